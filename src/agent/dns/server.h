// The DNS responder of the pod network, UDP and TCP, on a thread of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "agent/dns/zone.h"
#include "agent/runtime/file_descriptor.h"
#include "base/loop.h"
#include "base/result.h"

namespace hekla::agent {

class DnsServer {
  struct Private {};

 public:
  explicit DnsServer(Private) {}
  // Takes fresh sockets made in the namespace to serve, binds them to address:53 and answers at
  // once.
  static Result<std::unique_ptr<DnsServer>> start(FileDescriptor udp, FileDescriptor tcp,
                                                  std::uint32_t address, std::uint16_t port = 53);
  ~DnsServer();
  // Thread-safe; the next question sees it.
  void publish(Zone zone);

 private:
  void run();
  std::shared_ptr<const Zone> zone();

  FileDescriptor udp_, tcp_, wake_;
  std::mutex mutex_;
  std::shared_ptr<const Zone> zone_ = std::make_shared<const Zone>();
  std::unique_ptr<WorkerPool> thread_;
};

}  // namespace hekla::agent
