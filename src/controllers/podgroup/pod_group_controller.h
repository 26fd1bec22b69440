// The PodGroup controller: gives pods that name our scheduler, but are not of a job, a group of
// their own or one per owner, keeps it as the owner and its newest pod ask for, and takes it away
// when the owner has no pods left.
#pragma once

#include <map>
#include <set>

#include "controllers/framework/caches.h"
#include "kube/events.h"
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
    bool follow_owners = true;  // also when the group is there
  };

  PodGroupController(kube::Client& client, Caches& caches, kube::EventRecorder& events,
                     Options options);
  void start();
  void enable() { loop_.enable(); }

 private:
  using PodRef = std::shared_ptr<const model::Pod>;
  using OwnerRef = std::shared_ptr<const MetadataOnly>;
  bool is_ours(const model::Pod& pod) const;
  void pod_changed(const PodRef& before, const PodRef& after);
  void report(const kube::Key& key, int failures, const Error& error);
  kube::Round reconcile(const kube::Key& key);
  kube::Round reconcile_group(const kube::Key& key);
  void owner_changed(const OwnerRef& before, const OwnerRef& after);
  // The annotations of the pod's controller; nullopt while they are being fetched.
  std::optional<std::map<std::string, std::string>> owner_annotations(const kube::Key& key,
                                                                      const model::Pod& pod);

  kube::Client& client_;
  Caches& caches_;
  kube::EventRecorder& events_;
  const Options options_;
  // What people edit while it runs. Daemon sets and jobs are asked for when their group is made.
  kube::Informer<MetadataOnly> replica_sets_, stateful_sets_;
  // Of other owners, by uid, dropped with the owner's last pod.
  std::map<std::string, std::map<std::string, std::string>> owners_;
  std::map<std::string, std::set<kube::Key>> fetching_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
