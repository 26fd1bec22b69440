// PodDisruptionBudgets: how many of their pods may be evicted right now. The eviction itself is the
// API server's part; it takes from status.disruptionsAllowed and names the pod in disruptedPods.
#pragma once

#include "controllers/workload/caches.h"

namespace hekla::controllers {

// Pure: the status of `budget` over the pods it selects. `scale` is how many pods their owners
// want, or why that cannot be said; it only matters to budgets in percent or with maxUnavailable.
// `wait` is lowered to the time until an unconfirmed eviction is given up.
json::Object disruption_status(const Workload& budget, const std::vector<WorkloadPod>& pods,
                               const Result<std::int64_t>& scale, WallTime now,
                               std::optional<Nanos>& wait);

class DisruptionBudgets {
 public:
  explicit DisruptionBudgets(WorkloadCaches& caches);
  void start() { budgets_.start(); }

 private:
  void pod_changed(const WorkloadPod& before, const WorkloadPod& after);
  void owner_changed(const WorkloadRef& before, const WorkloadRef& after);
  Result<std::int64_t> scale_of(const std::vector<WorkloadPod>& pods, bool& unmanaged) const;
  kube::Round round(const kube::Key& key, WallTime now);

  WorkloadCaches& caches_;
  kube::EventRecorder events_;
  kube::Informer<Workload> budgets_;
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
