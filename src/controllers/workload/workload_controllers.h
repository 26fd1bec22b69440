// The controllers of Kubernetes' own workloads: Deployments, ReplicaSets, Jobs, CronJobs,
// StatefulSets, DaemonSets, and what watches over their pods: disruption budgets and autoscalers.
#pragma once

#include <memory>

#include "kube/cache_set.h"

namespace hekla::controllers {

// Lives on the caches' executor, and begins with them.
class WorkloadControllers {
 public:
  explicit WorkloadControllers(kube::CacheSet& caches);
  ~WorkloadControllers();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hekla::controllers
