// The PodGroup controller: gives pods that name our scheduler, but are not of a job, a group of
// their own or one per owner, keeps it as the owner and its newest pod ask for, and takes it away
// when the owner has no pods left.
#pragma once

#include <functional>
#include <map>

#include "controllers/volcano/caches.h"
#include "framework/kind_controller.h"

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

  PodGroupController(Caches& caches, Options options);

 private:
  KindDescription pod_kind();
  KindDescription group_kind();
  bool is_ours(const model::Pod& pod) const;
  void group_removed(const model::ObjectMeta& group, const Wake& wake) const;
  void pod_changed(const model::Pod* before, const model::Pod* after, const Wake& wake);
  Result<Outcome> reconcile_pod(const kube::Key& key, const View& view);
  Result<Outcome> reconcile_group(const kube::Key& key, const View& view);
  // The annotations of the pod's controller; nullopt while they are being fetched, and `asker` is
  // woken then. Replica sets and stateful sets, which people edit while they run, are followed;
  // daemon sets and jobs are asked for when their group is made.
  std::optional<std::map<std::string, std::string>> owner_annotations(const KindController& asker,
                                                                      const kube::Key& key,
                                                                      const model::Pod& pod);

  Caches& caches_;
  const Options options_;
  // Of owners that are not followed, by uid, dropped with the owner's last pod.
  std::map<std::string, std::map<std::string, std::string>> owners_;
  std::map<std::string, std::vector<std::function<void()>>> fetching_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  KindController pods_, groups_;
};

}  // namespace hekla::controllers
