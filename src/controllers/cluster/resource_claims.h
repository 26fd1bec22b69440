// The life of resource claims, as kube-controller-manager's resource claim controller has it: makes
// the claims of templates that pods name, takes pods that have ended out of reservedFor, takes the
// devices back when nobody is left, and lets claims go that are being deleted.
#pragma once

#include <map>
#include <set>
#include <string>

#include "controllers/vocabulary.h"
#include "framework/condition.h"
#include "kube/cache_set.h"
#include "kube/events.h"
#include "kube/reconcile.h"

namespace hekla::controllers {

namespace claim_resources {
extern const kube::Resource resource_claims, resource_claim_templates;
}  // namespace claim_resources

class ResourceClaims {
 public:
  explicit ResourceClaims(kube::CacheSet& caches);

 private:
  void pod_changed(const PodRef& before, const PodRef& after);
  void claim_changed(const AnyRef& before, const AnyRef& after);

  kube::Round pod_round(const kube::Key& key);
  // The claim the pod has for this entry of its spec; nothing if one must be made first.
  std::optional<std::string> claim_for(const model::Pod& pod, const json::Value& entry) const;
  void make_claim(const model::Pod& pod, const json::Value& entry, kube::Round& round);
  void reserve_for_placed(const model::Pod& pod, kube::Round& round) const;

  kube::Round claim_round(const kube::Key& key, WallTime now);
  bool still_uses(const json::Value& user, const std::string& ns, WallTime now, kube::Round& round);
  void take_back(const AnyObject& claim, const json::Array& users, kube::Round& round) const;
  void remove_if_unwanted(const AnyObject& claim, kube::Round& round) const;

  kube::EventRecorder events_;
  kube::Informer<model::Pod>& pods_;
  kube::Informer<AnyObject>&claims_, &templates_;
  int pods_by_template_, claims_by_pod_;
  std::set<std::string> gone_;               // uids of pods seen to go, a bounded number
  std::map<std::string, WallTime> missing_;  // uids of pods never seen, since when
  std::set<kube::Key> taken_back_;           // whose finalizer is to go next
  kube::ReconcileLoop pods_loop_, claims_loop_;
};

}  // namespace hekla::controllers
