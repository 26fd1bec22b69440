// The DNS responder of the pod network, UDP and TCP, on a thread of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "agent/dns/forwarder.h"
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
  // once. Questions about names that are not the cluster's go to the upstreams, over UDP and from
  // the host's network namespace; without any they are refused.
  static Result<std::unique_ptr<DnsServer>> start(FileDescriptor udp, FileDescriptor tcp,
                                                  std::uint32_t address,
                                                  const std::vector<std::uint32_t>& upstreams = {},
                                                  std::uint16_t port = 53);
  ~DnsServer();
  // Thread-safe; the next question sees it.
  void publish(Zone zone);

 private:
  void run();
  std::shared_ptr<const Zone> zone();

  FileDescriptor udp_, tcp_, wake_;
  std::mutex mutex_;
  DnsForwarder forwarder_;  // the thread's own
  std::shared_ptr<const Zone> zone_ = std::make_shared<const Zone>();
  std::unique_ptr<WorkerPool> thread_;
};

}  // namespace hekla::agent
