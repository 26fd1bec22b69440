// Makes the claims of pods' generic ephemeral volumes, as kube-controller-manager's ephemeral
// volume controller does. A claim belongs to its pod and is collected with it.
#pragma once

#include "controllers/workload/caches.h"

namespace hekla::controllers {

class EphemeralVolumes {
 public:
  explicit EphemeralVolumes(WorkloadCaches& caches);

 private:
  kube::Round pod_round(const kube::Key& key);
  void failed(const model::Pod& pod, const std::string& volume, const std::string& why);

  WorkloadCaches& caches_;
  kube::EventRecorder events_;
  int pods_by_claim_;
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
