// The controllers of Kubernetes' own workloads, and what lives on the same caches: endpoints,
// disruption budgets, protection of storage in use, the health of nodes. Give them a client and
// start them.
#pragma once

#include <memory>

#include "kube/client.h"

namespace hekla::controllers {

// Lives on the client's executor.
class WorkloadControllers {
 public:
  struct Options {
    // Silent nodes become Unknown, taints evict pods, pods of vanished nodes are removed.
    bool look_after_nodes = false;
  };
  explicit WorkloadControllers(kube::Client& client) : WorkloadControllers(client, Options{}) {}
  WorkloadControllers(kube::Client& client, Options options);
  ~WorkloadControllers();
  void start();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hekla::controllers
