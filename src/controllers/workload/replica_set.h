// ReplicaSets: as many pods of a template as asked for.
#pragma once

#include "controllers/workload/caches.h"

namespace hekla::controllers {

// Pure: what to do about `set`, given the pods it has claimed (finished ones included).
WorkloadPlan plan_replica_set(const Workload& set, const std::vector<WorkloadPod>& pods,
                              WallTime now, const std::string* failure);

class ReplicaSets {
 public:
  explicit ReplicaSets(WorkloadCaches& caches);

 private:
  WorkloadCaches& caches_;
  WorkloadLoop loop_;
};

}  // namespace hekla::controllers
