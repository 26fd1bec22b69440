#include "controllers/workload/caches.h"

#include <algorithm>

namespace hekla::controllers {

namespace workload_resources {
const kube::Resource cron_jobs{"batch", "v1", "cronjobs", "CronJob", true};
const kube::Resource controller_revisions{"apps", "v1", "controllerrevisions", "ControllerRevision",
                                          true};
const kube::Resource replication_controllers{"", "v1", "replicationcontrollers",
                                             "ReplicationController", true};
}  // namespace workload_resources

namespace {

// Owned objects are found by their controller's uid, those without one by their namespace.
void owner_keys(const model::ObjectMeta& metadata, std::vector<std::string>& keys) {
  const model::OwnerReference* owner = metadata.controller();
  keys.push_back(owner ? owner->uid : "orphans of " + metadata.ns);
}

template <class T>
int index_by_owner(kube::Informer<T>& informer) {
  return informer.add_index(
      [](const T& object, std::vector<std::string>& keys) { owner_keys(object.metadata, keys); });
}

template <class T>
std::vector<std::shared_ptr<const T>> claim(const kube::Informer<T>& informer, int by_owner,
                                            const Workload& owner, const kube::Resource& resource,
                                            std::vector<kube::Write>& writes,
                                            const WorkloadCaches::Adoptable& adoptable = {}) {
  std::vector<std::shared_ptr<const T>> claimed;
  std::optional<model::Selector> selector = owner.selector();
  for (auto& object : informer.by(by_owner, owner.metadata.uid)) {
    if (selector && selector->matches(object->metadata.labels)) {
      claimed.push_back(std::move(object));
      continue;
    }
    if (object->metadata.deletionTimestamp || owner.metadata.deletionTimestamp) continue;
    json::Array rest;
    for (const model::OwnerReference& one : object->metadata.ownerReferences)
      if (one.uid != owner.metadata.uid) rest.push_back(json::encode(one));
    writes.push_back(merge_patch(
        informer.resource(), key_of(object->metadata),
        json::Object{{"metadata", json::Object{{"uid", object->metadata.uid},
                                               {"ownerReferences", std::move(rest)}}}}));
  }
  if (!selector || owner.metadata.deletionTimestamp) return claimed;
  for (auto& object : informer.by(by_owner, "orphans of " + owner.metadata.ns)) {
    if (object->metadata.deletionTimestamp || !selector->matches(object->metadata.labels)) continue;
    if (adoptable && !adoptable(object->metadata)) continue;
    json::Array owners = owner_references(object->metadata);
    owners.push_back(json::encode(
        model::controller_reference(resource.api_version(), resource.kind, owner.metadata)));
    writes.push_back(merge_patch(
        informer.resource(), key_of(object->metadata),
        json::Object{{"metadata", json::Object{{"uid", object->metadata.uid},
                                               {"ownerReferences", std::move(owners)}}}}));
    claimed.push_back(std::move(object));
  }
  return claimed;
}

}  // namespace

WorkloadCaches::WorkloadCaches(kube::Client& c)
    : client(c),
      pods(c, kube::resources::pods),
      replica_sets(c, kube::resources::replica_sets),
      replication_controllers(c, workload_resources::replication_controllers),
      deployments(c, kube::resources::deployments),
      stateful_sets(c, kube::resources::stateful_sets),
      daemon_sets(c, kube::resources::daemon_sets),
      jobs(c, kube::resources::batch_jobs),
      cron_jobs(c, workload_resources::cron_jobs),
      claims(c, kube::resources::persistent_volume_claims),
      nodes(c, kube::resources::nodes),
      revisions(c, workload_resources::controller_revisions),
      pods_by_owner_(index_by_owner(pods)),
      replica_sets_by_owner_(index_by_owner(replica_sets)),
      revisions_by_owner_(index_by_owner(revisions)),
      jobs_by_owner_(index_by_owner(jobs)) {}

void WorkloadCaches::start() {
  auto each = [this](auto visit) {
    visit(pods);
    visit(replica_sets);
    visit(replication_controllers);
    visit(deployments);
    visit(stateful_sets);
    visit(daemon_sets);
    visit(jobs);
    visit(cron_jobs);
    visit(claims);
    visit(nodes);
    visit(revisions);
  };
  each([this](auto& informer) { informer.on_settled([this] { check_synced(); }); });
  each([](auto& informer) { informer.start(); });
}

void WorkloadCaches::check_synced() {
  if (announced_ || !pods.synced() || !replica_sets.synced() || !replication_controllers.synced() ||
      !deployments.synced() || !stateful_sets.synced() || !daemon_sets.synced() || !jobs.synced() ||
      !cron_jobs.synced() || !claims.synced() || !nodes.synced() || !revisions.synced())
    return;
  announced_ = true;
  for (const auto& handler : synced_handlers_) handler();
}

void WorkloadCaches::overlay(const kube::Write& write, const kube::ObjectPtr& result) {
  controllers::overlay(pods, write, result);
  controllers::overlay(replica_sets, write, result);
  controllers::overlay(replication_controllers, write, result);
  controllers::overlay(deployments, write, result);
  controllers::overlay(stateful_sets, write, result);
  controllers::overlay(daemon_sets, write, result);
  controllers::overlay(jobs, write, result);
  controllers::overlay(cron_jobs, write, result);
  controllers::overlay(claims, write, result);
  controllers::overlay(revisions, write, result);
}

std::vector<WorkloadPod> WorkloadCaches::pods_of(const std::string& owner_uid) const {
  return pods.by(pods_by_owner_, owner_uid);
}

std::vector<RevisionRef> WorkloadCaches::revisions_of(const std::string& owner_uid) const {
  return revisions.by(revisions_by_owner_, owner_uid);
}

std::vector<WorkloadRef> WorkloadCaches::jobs_of(const std::string& owner_uid) const {
  return jobs.by(jobs_by_owner_, owner_uid);
}

std::vector<WorkloadPod> WorkloadCaches::claim_pods(const Workload& owner,
                                                    const kube::Resource& resource,
                                                    std::vector<kube::Write>& writes,
                                                    const Adoptable& adoptable) {
  return claim(pods, pods_by_owner_, owner, resource, writes, adoptable);
}

std::vector<WorkloadRef> WorkloadCaches::claim_replica_sets(const Workload& owner,
                                                            std::vector<kube::Write>& writes) {
  return claim(replica_sets, replica_sets_by_owner_, owner, kube::resources::deployments, writes);
}

}  // namespace hekla::controllers
