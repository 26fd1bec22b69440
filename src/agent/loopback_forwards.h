// Connections to this machine's own loopback for whoever forwards a port of a pod that this process
// stands in for. Ordinary pods' ports are NodeStreams'.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/executor.h"
#include "kube/pod_streams.h"

namespace hekla::agent {

struct StreamCore;

// Thread-safe. A thread of its own begins with the first connection.
class LoopbackForwards {
 public:
  explicit LoopbackForwards(Executor& executor) : executor_(executor) {}
  void open(std::uint16_t port, std::shared_ptr<kube::ForwardClient> client,
            kube::PodStreams::ForwardReady ready);

 private:
  Executor& executor_;
  std::mutex mutex_;
  std::shared_ptr<StreamCore> core_;  // null before the first
};

}  // namespace hekla::agent
