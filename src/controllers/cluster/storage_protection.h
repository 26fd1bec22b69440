// Claims stay while a pod uses them, volumes while a claim is bound to them: takes the protection
// finalizers off when the last user has gone.
#pragma once

#include "controllers/workload/caches.h"

namespace hekla::controllers {

class StorageProtection {
 public:
  explicit StorageProtection(WorkloadCaches& caches);
  void start() { volumes_.start(); }

 private:
  kube::Round claim_round(const kube::Key& key);
  kube::Round volume_round(const kube::Key& key);

  WorkloadCaches& caches_;
  kube::Informer<Workload> volumes_;
  int pods_by_claim_;
  kube::ReconcileLoop claims_loop_, volumes_loop_;
};

}  // namespace hekla::controllers
