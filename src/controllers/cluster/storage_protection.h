// Claims stay while a pod uses them, volumes while a claim is bound to them: takes the protection
// finalizers off when the last user has gone.
#pragma once

#include "controllers/vocabulary.h"
#include "framework/condition.h"
#include "kube/cache_set.h"
#include "kube/events.h"
#include "kube/reconcile.h"

namespace hekla::controllers {

class StorageProtection {
 public:
  explicit StorageProtection(kube::CacheSet& caches);

 private:
  kube::Round claim_round(const kube::Key& key);
  kube::Round volume_round(const kube::Key& key);

  kube::Informer<model::Pod>& pods_;
  kube::Informer<AnyObject>&claims_, &volumes_;
  int pods_by_claim_;
  kube::ReconcileLoop claims_loop_, volumes_loop_;
};

}  // namespace hekla::controllers
