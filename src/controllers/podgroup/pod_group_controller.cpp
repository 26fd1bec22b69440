#include "controllers/podgroup/pod_group_controller.h"

#include <algorithm>

#include "controllers/podgroup/plain_group.h"

namespace hekla::controllers {
namespace {

// Keys of this loop are pods, or groups whose last pod has gone (the name begins with this).
const std::string kGroupPrefix = "podgroup-";

const kube::Resource* workload_of(const model::OwnerReference& owner) {
  namespace resources = kube::resources;
  for (const kube::Resource* kind : {&resources::replica_sets, &resources::daemon_sets,
                                     &resources::stateful_sets, &resources::batch_jobs})
    if (owner.kind == kind->kind && owner.apiVersion == kind->api_version()) return kind;
  return nullptr;
}

bool scales_to_zero(const model::OwnerReference& owner) {
  return owner.apiVersion == "apps/v1" &&
         (owner.kind == "ReplicaSet" || owner.kind == "StatefulSet");
}

bool is_over(const model::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

}  // namespace

PodGroupController::PodGroupController(kube::Client& client, Caches& caches,
                                       kube::EventRecorder& events, Options options)
    : client_(client),
      caches_(caches),
      events_(events),
      options_(std::move(options)),
      replica_sets_(client, kube::resources::replica_sets),
      stateful_sets_(client, kube::resources::stateful_sets),
      loop_(
          client,
          {.name = "podgroup-controller",
           .on_failure = [this](const kube::Key& key, int failures,
                                const Error& error) { report(key, failures, error); }},
          [this](const kube::Key& key, WallTime) { return reconcile(key); },
          [this](const kube::Write& write, const kube::ObjectPtr& result) {
            caches_.overlay(write, result);
          }) {
  caches_.pods.on_change(
      [this](const auto& before, const auto& after) { pod_changed(before, after); });
  for (kube::Informer<MetadataOnly>* owners : {&replica_sets_, &stateful_sets_})
    owners->on_change(
        [this](const auto& before, const auto& after) { owner_changed(before, after); });
  caches_.groups.on_change([this](const auto& before, const auto& after) {
    // A group removed under pods that still need it is made again.
    if (after || !before->metadata.name.starts_with(kGroupPrefix)) return;
    const model::OwnerReference* single = before->metadata.controller();
    if (single && single->kind == "Pod") loop_.add(kube::Key{before->metadata.ns, single->name});
    std::string owner = before->metadata.name.substr(kGroupPrefix.size());
    for (const PodRef& pod : caches_.pods_of(owner))
      if (is_ours(*pod)) loop_.add(kube::Key{pod->metadata.ns, pod->metadata.name});
  });
}

// A pod without a group is seen by no scheduler: it must not wait in silence.
void PodGroupController::report(const kube::Key& key, int failures, const Error& error) {
  constexpr int kMoreThanARace = 3;
  PodRef pod = caches_.pods.get(key);
  if (failures < kMoreThanARace || !pod) return;
  events_.record({"v1", "Pod", key.ns, key.name, pod->metadata.uid, 0}, "Warning", "PodGroupError",
                 "Failed to create PodGroup, err: " + error.message);
}

void PodGroupController::start() {
  if (!options_.inherit_owner_annotations || !options_.follow_owners) return;
  replica_sets_.start();
  stateful_sets_.start();
}

void PodGroupController::owner_changed(const OwnerRef& before, const OwnerRef& after) {
  if (!after || (before && before->metadata.annotations == after->metadata.annotations)) return;
  loop_.add(kube::Key{after->metadata.ns, kGroupPrefix + after->metadata.uid});
}

bool PodGroupController::is_ours(const model::Pod& pod) const {
  const auto& names = options_.scheduler_names;
  if (std::find(names.begin(), names.end(), pod.spec.schedulerName) == names.end()) return false;
  const std::string& group = pod.metadata.annotation(model::keys::group_name);
  return group.empty() || group == plain_group_name(pod);
}

void PodGroupController::pod_changed(const PodRef& before, const PodRef& after) {
  const model::Pod& pod = after ? *after : *before;
  if (!is_ours(pod)) return;
  if (!after) {
    const model::OwnerReference* owner = pod.metadata.controller();
    if (owner && scales_to_zero(*owner) && caches_.pods_of(owner->uid).empty())
      loop_.add(kube::Key{pod.metadata.ns, plain_group_name(pod)});
    if (owner && caches_.pods_of(owner->uid).empty()) owners_.erase(owner->uid);
    return;
  }
  bool grouped = !pod.metadata.annotation(model::keys::group_name).empty();
  if (!before || !grouped) loop_.add(kube::Key{pod.metadata.ns, pod.metadata.name});
  // Of several pods of one owner the newest tells what the group needs.
  if (!before && pod.metadata.controller())
    loop_.add(kube::Key{pod.metadata.ns, plain_group_name(pod)});
}

std::optional<std::map<std::string, std::string>> PodGroupController::owner_annotations(
    const kube::Key& key, const model::Pod& pod) {
  const model::OwnerReference* owner = pod.metadata.controller();
  const kube::Resource* kind = owner ? workload_of(*owner) : nullptr;
  if (!kind || !options_.inherit_owner_annotations) return std::map<std::string, std::string>{};
  for (const kube::Informer<MetadataOnly>* owners : {&replica_sets_, &stateful_sets_}) {
    if (owners->resource() != *kind) continue;
    OwnerRef known = owners->get(kube::Key{pod.metadata.ns, owner->name});
    if (known && known->metadata.uid == owner->uid) return known->metadata.annotations;
  }
  if (auto found = owners_.find(owner->uid); found != owners_.end()) return found->second;
  bool first = fetching_[owner->uid].empty();
  fetching_[owner->uid].insert(key);
  if (!first) return std::nullopt;
  client_.get(
      *kind, kube::Key{pod.metadata.ns, owner->name},
      [this, weak = std::weak_ptr(alive_), uid = owner->uid](Result<kube::ObjectPtr> result) {
        if (weak.expired()) return;
        // Whatever cannot be read has no annotations: pods must not wait for that.
        std::map<std::string, std::string> annotations;
        if (result && *result)
          if (auto owner = json::decode_text<MetadataOnly>(*(*result)->json))
            annotations = std::move(owner->metadata.annotations);
        owners_[uid] = std::move(annotations);
        std::set<kube::Key> waiting = std::move(fetching_[uid]);
        fetching_.erase(uid);
        for (const kube::Key& pod : waiting) loop_.add(pod);
      });
  return std::nullopt;
}

kube::Round PodGroupController::reconcile_group(const kube::Key& key) {
  kube::Round round;
  auto group = caches_.groups.get(key);
  if (!group || group->metadata.deletionTimestamp) return round;
  std::vector<PodRef> pods = caches_.pods_of(key.name.substr(kGroupPrefix.size()));
  if (pods.empty()) {
    const model::OwnerReference* owner = group->metadata.controller();
    if (!owner || !scales_to_zero(*owner)) return round;
    round.writes.push_back(remove(kube::resources::pod_groups, key, group->metadata.uid));
    return round;
  }
  PodRef newest;
  for (const PodRef& pod : pods) {
    if (pod->metadata.deletionTimestamp || is_over(*pod) || !is_ours(*pod)) continue;
    if (!newest || pod->metadata.creationTimestamp.at > newest->metadata.creationTimestamp.at)
      newest = pod;
  }
  if (!newest || !options_.follow_owners) return round;
  auto annotations = owner_annotations(key, *newest);
  if (!annotations) return round;
  json::Object patch = plain_group_patch(*group, *newest, *annotations);
  if (!patch.empty())
    round.writes.push_back(merge_patch(kube::resources::pod_groups, key, std::move(patch)));
  return round;
}

kube::Round PodGroupController::reconcile(const kube::Key& key) {
  kube::Round round;
  PodRef pod = caches_.pods.get(key);
  if (!pod) return key.name.starts_with(kGroupPrefix) ? reconcile_group(key) : round;
  if (pod->metadata.deletionTimestamp || is_over(*pod) || !is_ours(*pod)) return round;
  std::string name = plain_group_name(*pod);
  if (!caches_.groups.get(kube::Key{key.ns, name})) {
    auto annotations = owner_annotations(key, *pod);
    if (!annotations) return round;
    round.writes.push_back(
        create(kube::resources::pod_groups, key.ns, make_plain_group(*pod, *annotations)));
  }
  if (pod->metadata.annotation(model::keys::group_name).empty()) {
    json::Object annotations{{model::keys::group_name, name}};
    round.writes.push_back(merge_patch(
        kube::resources::pods, key,
        json::Object{{"metadata", json::Object{{"annotations", std::move(annotations)}}}}));
  }
  return round;
}

}  // namespace hekla::controllers
