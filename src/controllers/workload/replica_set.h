// ReplicaSets and ReplicationControllers: as many pods of a template as asked for.
#pragma once

#include "controllers/workload/caches.h"

namespace hekla::controllers {

// Pure: what to do about `set`, an object of `resource`, given the pods it has claimed (finished
// ones included).
WorkloadPlan plan_replica_set(const kube::Resource& resource, const Workload& set,
                              const std::vector<WorkloadPod>& pods, WallTime now,
                              const std::string* failure);

class ReplicaSets {
 public:
  // `sets` is one of the caches: replica_sets or replication_controllers.
  ReplicaSets(WorkloadCaches& caches, kube::Informer<Workload>& sets, std::string name);

 private:
  WorkloadCaches& caches_;
  WorkloadLoop loop_;
};

}  // namespace hekla::controllers
