// The controllers of Kubernetes' own workloads: give them a client and start them.
#pragma once

#include <memory>

#include "kube/client.h"

namespace hekla::controllers {

// Lives on the client's executor.
class WorkloadControllers {
 public:
  explicit WorkloadControllers(kube::Client& client);
  ~WorkloadControllers();
  void start();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hekla::controllers
