#include "controllers/cluster/storage_protection.h"

#include <algorithm>

namespace hekla::controllers {
namespace {

constexpr std::string_view kClaimFinalizer = "kubernetes.io/pvc-protection";
constexpr std::string_view kVolumeFinalizer = "kubernetes.io/pv-protection";

// A pod without a node has not looked at its claims, one that has ended no longer does.
void used_claims(const model::Pod& pod, std::vector<std::string>& keys) {
  if (pod.spec.nodeName.empty() || pod_finished(pod)) return;
  for (const json::Value& volume : pod.spec.volumes) {
    std::string name(json::string_at(volume, {"persistentVolumeClaim", "claimName"}));
    if (json::find(volume, "ephemeral"))
      name = pod.metadata.name + "-" + std::string(json::string_at(volume, {"name"}));
    if (!name.empty()) keys.push_back(pod.metadata.ns + "/" + name);
  }
}

bool is_held(const Workload& object, std::string_view finalizer) {
  const auto& all = object.metadata.finalizers;
  return object.metadata.deletionTimestamp &&
         std::find(all.begin(), all.end(), finalizer) != all.end();
}

kube::Write let_go(const kube::Resource& resource, const Workload& object,
                   std::string_view finalizer) {
  json::Array left;
  for (const std::string& one : object.metadata.finalizers)
    if (one != finalizer) left.emplace_back(std::string_view(one));
  return merge_patch(
      resource, key_of(object.metadata),
      json::Object{{"metadata", json::Object{{"resourceVersion", object.metadata.resourceVersion},
                                             {"finalizers", std::move(left)}}}});
}

}  // namespace

StorageProtection::StorageProtection(WorkloadCaches& caches)
    : caches_(caches),
      volumes_(caches.client, kube::resources::persistent_volumes),
      pods_by_claim_(caches.pods.add_index(used_claims)),
      claims_loop_(
          caches.client, kube::ReconcileOptions{.name = "pvc-protection"},
          [this](const kube::Key& key, WallTime) { return claim_round(key); },
          [this](const kube::Write& write, const kube::ObjectPtr& result) {
            caches_.overlay(write, result);
          }),
      volumes_loop_(
          caches.client, kube::ReconcileOptions{.name = "pv-protection"},
          [this](const kube::Key& key, WallTime) { return volume_round(key); },
          [this](const kube::Write& write, const kube::ObjectPtr& result) {
            overlay(volumes_, write, result);
          }) {
  caches_.claims.on_change([this](const WorkloadRef&, const WorkloadRef& after) {
    if (after && is_held(*after, kClaimFinalizer)) claims_loop_.add(key_of(after->metadata));
  });
  caches_.pods.on_change([this](const WorkloadPod& before, const WorkloadPod&) {
    if (!before) return;  // a new pod frees nothing
    std::vector<std::string> keys;
    used_claims(*before, keys);
    for (const std::string& key : keys)
      claims_loop_.add({before->metadata.ns, key.substr(before->metadata.ns.size() + 1)});
  });
  caches_.on_synced([this] { claims_loop_.enable(); });
  volumes_.on_change([this](const WorkloadRef&, const WorkloadRef& after) {
    if (after && is_held(*after, kVolumeFinalizer)) volumes_loop_.add(key_of(after->metadata));
  });
  volumes_.on_settled([this] {
    if (volumes_.synced()) volumes_loop_.enable();
  });
}

kube::Round StorageProtection::claim_round(const kube::Key& key) {
  kube::Round round;
  WorkloadRef claim = caches_.claims.get(key);
  if (claim && is_held(*claim, kClaimFinalizer) &&
      caches_.pods.by(pods_by_claim_, key.ns + "/" + key.name).empty())
    round.writes.push_back(
        let_go(kube::resources::persistent_volume_claims, *claim, kClaimFinalizer));
  return round;
}

kube::Round StorageProtection::volume_round(const kube::Key& key) {
  kube::Round round;
  WorkloadRef volume = volumes_.get(key);
  if (volume && is_held(*volume, kVolumeFinalizer) &&
      json::string_at(volume->status, {"phase"}) != "Bound")
    round.writes.push_back(let_go(kube::resources::persistent_volumes, *volume, kVolumeFinalizer));
  return round;
}

}  // namespace hekla::controllers
