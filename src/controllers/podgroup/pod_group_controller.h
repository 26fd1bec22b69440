// The PodGroup controller: gives pods that name our scheduler, but are not of a job, a group of
// their own or one per owner, and takes the group away when its owner has no pods left.
#pragma once

#include <map>
#include <set>

#include "controllers/framework/caches.h"
#include "kube/reconcile.h"

namespace hekla::controllers {

// Lives on the client's executor.
class PodGroupController {
 public:
  struct Options {
    std::vector<std::string> scheduler_names{"volcano"};
    // Read minMember and volcano.sh/ annotations from a pod's ReplicaSet, DaemonSet, StatefulSet or
    // Job.
    bool inherit_owner_annotations = true;
  };

  PodGroupController(kube::Client& client, Caches& caches, Options options);
  void enable() { loop_.enable(); }

 private:
  using PodRef = std::shared_ptr<const model::Pod>;
  bool is_ours(const model::Pod& pod) const;
  void pod_changed(const PodRef& before, const PodRef& after);
  kube::Round reconcile(const kube::Key& key);
  kube::Round drop_group(const kube::Key& key);
  // The annotations of the pod's controller; nullopt while they are being fetched.
  std::optional<std::map<std::string, std::string>> owner_annotations(const kube::Key& key,
                                                                      const model::Pod& pod);

  kube::Client& client_;
  Caches& caches_;
  const Options options_;
  // By uid, dropped with the owner's last pod.
  std::map<std::string, std::map<std::string, std::string>> owners_;
  std::map<std::string, std::set<kube::Key>> fetching_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
