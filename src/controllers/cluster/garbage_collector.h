// Removes what its owners left behind, over every kind served: background, foreground and orphan
// propagation. On a real cluster Kubernetes' own controller manager does this.
#pragma once

#include <memory>

#include "kube/client.h"

namespace hekla::controllers {

// Lives on the client's executor.
class GarbageCollector {
 public:
  GarbageCollector(kube::Client& client, kube::Discovery& discovery);
  ~GarbageCollector();
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::controllers
