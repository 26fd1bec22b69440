#include "controllers/volcano/podgroup/pod_group_controller.h"

#include <algorithm>

#include "controllers/volcano/podgroup/plain_group.h"
#include "framework/held.h"

namespace hekla::controllers {
namespace {

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

}  // namespace

PodGroupController::PodGroupController(Caches& caches, Options options)
    : caches_(caches),
      options_(std::move(options)),
      pods_(caches.set, pod_kind()),
      groups_(caches.set, group_kind()) {}

// A pod that needs a group: makes it, and names it in the pod's annotation.
KindDescription PodGroupController::pod_kind() {
  KindDescription kind{.name = "podgroup-controller",
                       .event_source = "vc-controller-manager",
                       .resource = kube::resources::pods,
                       .wakes_itself = false};
  kind.owns = {{.resource = kube::resources::pod_groups, .hold = held_as<model::PodGroup>}};
  kind.follows = {
      follow<model::Pod>(
          kube::resources::pods,
          [this](const model::Pod* before, const model::Pod* after, const Wake& wake) {
            if (!after || !is_ours(*after)) return;
            const bool grouped = !after->metadata.annotation(model::keys::group_name).empty();
            if (!before || !grouped) wake(key_of(after->metadata));
          }),
      // A group removed under pods that still need it is made again.
      follow<model::PodGroup>(
          kube::resources::pod_groups,
          [this](const model::PodGroup* before, const model::PodGroup* after, const Wake& wake) {
            if (!after) group_removed(before->metadata, wake);
          })};
  kind.reconcile = [this](const AnyObject& pod, const View& view) {
    return reconcile_pod(key_of(pod.metadata), view);
  };
  // A pod without a group is seen by no scheduler: it must not wait in silence.
  kind.failing = {"Warning", "PodGroupError", "Failed to create PodGroup, err: {error}"};
  return kind;
}

// A group of an owner's pods: follows the newest of them, and goes with the last.
KindDescription PodGroupController::group_kind() {
  KindDescription kind{.name = "podgroup-owners",
                       .resource = kube::resources::pod_groups,
                       .wakes_itself = false,
                       .hold = held_as<model::PodGroup>};
  kind.follows = {follow<model::Pod>(
      kube::resources::pods, [this](const model::Pod* before, const model::Pod* after,
                                    const Wake& wake) { pod_changed(before, after, wake); })};
  if (options_.inherit_owner_annotations && options_.follow_owners)
    for (const kube::Resource* owners :
         {&kube::resources::replica_sets, &kube::resources::stateful_sets})
      kind.follows.push_back(follow<MetadataOnly>(
          *owners, [](const MetadataOnly* before, const MetadataOnly* after, const Wake& wake) {
            if (after && !(before && before->metadata.annotations == after->metadata.annotations))
              wake({after->metadata.ns, kGroupPrefix + after->metadata.uid});
          }));
  kind.reconcile = [this](const AnyObject& group, const View& view) {
    return reconcile_group(key_of(group.metadata), view);
  };
  return kind;
}

bool PodGroupController::is_ours(const model::Pod& pod) const {
  const auto& names = options_.scheduler_names;
  if (std::find(names.begin(), names.end(), pod.spec.schedulerName) == names.end()) return false;
  const std::string& group = pod.metadata.annotation(model::keys::group_name);
  return group.empty() || group == plain_group_name(pod);
}

void PodGroupController::group_removed(const model::ObjectMeta& group, const Wake& wake) const {
  if (!group.name.starts_with(kGroupPrefix)) return;
  const model::OwnerReference* single = group.controller();
  if (single && single->kind == "Pod") wake({group.ns, single->name});
  for (const PodRef& pod : caches_.pods_of(group.name.substr(kGroupPrefix.size())))
    if (is_ours(*pod)) wake(key_of(pod->metadata));
}

void PodGroupController::pod_changed(const model::Pod* before, const model::Pod* after,
                                     const Wake& wake) {
  const model::Pod& pod = after ? *after : *before;
  const model::OwnerReference* owner = pod.metadata.controller();
  if (!owner || !is_ours(pod)) return;
  const bool last = !after && caches_.pods_of(owner->uid).empty();
  if (last) owners_.erase(owner->uid);
  // Of several pods of one owner the newest tells what the group needs.
  if ((last && scales_to_zero(*owner)) || !before) wake({pod.metadata.ns, plain_group_name(pod)});
}

std::optional<std::map<std::string, std::string>> PodGroupController::owner_annotations(
    const KindController& asker, const kube::Key& key, const model::Pod& pod) {
  const model::OwnerReference* owner = pod.metadata.controller();
  const kube::Resource* kind = owner ? workload_of(*owner) : nullptr;
  if (!kind || !options_.inherit_owner_annotations) return std::map<std::string, std::string>{};
  const bool followed = options_.follow_owners && (*kind == kube::resources::replica_sets ||
                                                   *kind == kube::resources::stateful_sets);
  if (followed)
    if (auto known =
            caches_.set.known<MetadataOnly>(*kind).get(kube::Key{pod.metadata.ns, owner->name});
        known && known->metadata.uid == owner->uid)
      return known->metadata.annotations;
  if (auto found = owners_.find(owner->uid); found != owners_.end()) return found->second;
  std::vector<std::function<void()>>& waiting = fetching_[owner->uid];
  waiting.push_back([wake = asker.wake(), key] { wake(key); });
  if (waiting.size() > 1) return std::nullopt;
  caches_.set.client().get(
      *kind, kube::Key{pod.metadata.ns, owner->name},
      [this, weak = std::weak_ptr(alive_), uid = owner->uid](Result<kube::ObjectPtr> result) {
        if (weak.expired()) return;
        // Whatever cannot be read has no annotations: pods must not wait for that.
        std::map<std::string, std::string> annotations;
        if (result && *result)
          if (auto owner = json::decode_text<MetadataOnly>(*(*result)->json))
            annotations = std::move(owner->metadata.annotations);
        owners_[uid] = std::move(annotations);
        auto waiters = std::move(fetching_[uid]);
        fetching_.erase(uid);
        for (const auto& wake : waiters) wake();
      });
  return std::nullopt;
}

Result<Outcome> PodGroupController::reconcile_pod(const kube::Key& key, const View& view) {
  Outcome outcome;
  PodRef pod = view.find<model::Pod>(kube::resources::pods, key);
  if (!pod_active(*pod) || !is_ours(*pod)) return outcome;
  const std::string name = plain_group_name(*pod);
  if (!view.find<model::PodGroup>(kube::resources::pod_groups, {key.ns, name})) {
    auto annotations = owner_annotations(pods_, key, *pod);
    if (!annotations) return outcome;
    // It belongs to the pod's owner, and to several pods alike.
    outcome.children.push_back({.resource = kube::resources::pod_groups,
                                .body = make_plain_group(*pod, *annotations),
                                .care = Care::create_once,
                                .ownership = Ownership::none});
  }
  if (pod->metadata.annotation(model::keys::group_name).empty())
    json::at_path(outcome.patch, {"metadata", "annotations", model::keys::group_name}) = name;
  return outcome;
}

Result<Outcome> PodGroupController::reconcile_group(const kube::Key& key, const View& view) {
  Outcome outcome;
  auto group = view.find<model::PodGroup>(kube::resources::pod_groups, key);
  std::vector<PodRef> pods = caches_.pods_of(key.name.substr(kGroupPrefix.size()));
  if (pods.empty()) {
    const model::OwnerReference* owner = group->metadata.controller();
    if (owner && scales_to_zero(*owner))
      outcome.removals.push_back(
          removal_of(kube::resources::pod_groups, group->metadata, "its owner has no pods left"));
    return outcome;
  }
  PodRef newest;
  for (const PodRef& pod : pods) {
    if (!pod_active(*pod) || !is_ours(*pod)) continue;
    if (!newest || pod->metadata.creationTimestamp.at > newest->metadata.creationTimestamp.at)
      newest = pod;
  }
  if (!newest || !options_.follow_owners) return outcome;
  if (auto annotations = owner_annotations(groups_, key, *newest))
    outcome.patch = plain_group_patch(*group, *newest, *annotations);
  return outcome;
}

}  // namespace hekla::controllers
