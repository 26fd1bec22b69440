// PodDisruptionBudgets: how many of their pods may be evicted right now. The eviction itself is the
// API server's part; it takes from status.disruptionsAllowed and names the pod in disruptedPods.
#pragma once

#include "controllers/workload/objects.h"
#include "kube/cache_set.h"
#include "kube/events.h"
#include "kube/reconcile.h"

namespace hekla::controllers {

// Pure: the status of `budget` over the pods it selects. `scale` is how many pods their owners
// want, or why that cannot be said; it only matters to budgets in percent or with maxUnavailable.
// `wait` is lowered to the time until an unconfirmed eviction is given up.
json::Object disruption_status(const AnyObject& budget, const std::vector<PodRef>& pods,
                               const Result<std::int64_t>& scale, WallTime now,
                               std::optional<Nanos>& wait);

class DisruptionBudgets {
 public:
  explicit DisruptionBudgets(kube::CacheSet& caches);

 private:
  void pod_changed(const PodRef& before, const PodRef& after);
  void owner_changed(const AnyRef& before, const AnyRef& after);
  Result<std::int64_t> scale_of(const std::vector<PodRef>& pods, bool& unmanaged) const;
  kube::Round round(const kube::Key& key, WallTime now);

  kube::EventRecorder events_;
  kube::Informer<model::Pod>& pods_;
  kube::Informer<AnyObject>&budgets_, &deployments_, &replica_sets_, &stateful_sets_;
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
