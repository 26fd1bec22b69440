// The objects the workload controllers look at, shared by all of them.
#pragma once

#include <functional>
#include <vector>

#include "controllers/workload/objects.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/reconcile.h"

namespace hekla::controllers {

namespace workload_resources {
extern const kube::Resource cron_jobs, controller_revisions, replication_controllers;
}  // namespace workload_resources

// Lives on the client's executor.
class WorkloadCaches {
 public:
  explicit WorkloadCaches(kube::Client& client);

  // Handlers are registered before start().
  void start();
  void on_synced(std::function<void()> handler) { synced_handlers_.push_back(std::move(handler)); }
  bool synced() const { return announced_; }
  void overlay(const kube::Write& write, const kube::ObjectPtr& result);

  std::vector<WorkloadPod> pods_of(const std::string& owner_uid) const;
  // Pods and replica sets of `owner`: its own ones that match, orphans that match are adopted, its
  // own ones that no longer match are let go. Writes for the latter two are appended.
  // Only orphans for which `adoptable` holds, if it is given.
  using Adoptable = std::function<bool(const model::ObjectMeta&)>;
  std::vector<WorkloadPod> claim_pods(const Workload& owner, const kube::Resource& resource,
                                      std::vector<kube::Write>& writes,
                                      const Adoptable& adoptable = {});
  std::vector<WorkloadRef> claim_replica_sets(const Workload& owner,
                                              std::vector<kube::Write>& writes);
  std::vector<RevisionRef> revisions_of(const std::string& owner_uid) const;
  std::vector<WorkloadRef> jobs_of(const std::string& owner_uid) const;

  kube::Client& client;
  kube::Informer<model::Pod> pods;
  kube::Informer<Workload> replica_sets, replication_controllers, deployments, stateful_sets,
      daemon_sets, jobs, cron_jobs;
  kube::Informer<Workload> claims;
  kube::Informer<model::Node> nodes;
  kube::Informer<ControllerRevision> revisions;

 private:
  void check_synced();

  int pods_by_owner_ = 0, replica_sets_by_owner_ = 0, revisions_by_owner_ = 0, jobs_by_owner_ = 0;
  bool announced_ = false;
  std::vector<std::function<void()>> synced_handlers_;
};

// What one look at an object leads to.
struct WorkloadPlan {
  std::vector<kube::Write> writes;
  std::vector<EventText> events;
  std::optional<Nanos> again_after;
};

// Runs one kind's controller: keys come from the objects and from their pods.
class WorkloadLoop {
 public:
  // `failure` is the message of the last round's refused pod, if any.
  using Plan = std::function<WorkloadPlan(const WorkloadRef& object, WallTime now,
                                          const std::string* failure)>;

  // Its events are those of `name`-controller.
  WorkloadLoop(WorkloadCaches& caches, kube::Informer<Workload>& objects, const std::string& name,
               Plan plan);
  void add(const kube::Key& key) { loop_.add(key); }
  void add_all();
  kube::EventTarget target(const Workload& object) const;

 private:
  kube::Round round(const kube::Key& key, WallTime now);
  // What is left of a write that is under way.
  struct Sent {
    kube::Write::Verb verb;
    kube::Resource resource;
    std::string name;
  };
  Result<void> settle(const kube::Key& key, const kube::EventTarget& target,
                      const std::vector<Sent>& sent, const std::vector<kube::WriteResult>& results);
  void pod_changed(const WorkloadPod& before, const WorkloadPod& after);

  WorkloadCaches& caches_;
  kube::Informer<Workload>& objects_;
  Plan plan_;
  kube::EventRecorder events_;
  std::map<kube::Key, std::string> failures_;
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
