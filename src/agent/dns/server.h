// The DNS responder of the pod network, UDP and TCP, on a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/dns/forwarder.h"
#include "agent/dns/zone.h"
#include "agent/os/file_descriptor.h"
#include "base/loop.h"
#include "base/result.h"

namespace hekla::agent {

class DnsServer {
  struct Private {};

 public:
  explicit DnsServer(Private) {}
  // Takes fresh sockets made in the namespace to serve, binds them to address:53 and answers at
  // once. Names that are not the cluster's are refused until there is somebody to ask.
  static Result<std::unique_ptr<DnsServer>> start(FileDescriptor udp, FileDescriptor tcp,
                                                  std::uint32_t address, std::uint16_t port = 53);
  ~DnsServer();
  // Thread-safe; the next question sees it.
  void publish(Zone zone);
  // Thread-safe: who answers for all other names; asked from the host's network namespace. A port
  // other than 53 is for tests.
  void use_name_servers(std::vector<std::string> addresses, std::uint16_t port = 53);

 private:
  class Connection;

  void run();
  void take_name_servers();
  void serve_udp();
  // The reply comes at once, later or never.
  void respond(std::string_view query, bool stream, DnsReply reply);
  std::shared_ptr<const Zone> zone();

  FileDescriptor udp_, tcp_, wake_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;  // of what follows
  std::shared_ptr<const Zone> zone_ = std::make_shared<const Zone>();
  std::optional<std::pair<std::vector<std::string>, std::uint16_t>> new_servers_;
  DnsForwarder forwarder_;  // the thread's own
  std::unique_ptr<WorkerPool> thread_;
};

}  // namespace hekla::agent
