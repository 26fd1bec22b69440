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

bool is_held(const AnyObject& object, std::string_view finalizer) {
  const auto& all = object.metadata.finalizers;
  return object.metadata.deletionTimestamp &&
         std::find(all.begin(), all.end(), finalizer) != all.end();
}

kube::Write let_go(const kube::Resource& resource, const AnyObject& object,
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

StorageProtection::StorageProtection(kube::CacheSet& caches)
    : pods_(caches.of<model::Pod>(kube::resources::pods)),
      claims_(caches.of<AnyObject>(kube::resources::persistent_volume_claims)),
      volumes_(caches.of<AnyObject>(kube::resources::persistent_volumes)),
      pods_by_claim_(pods_.add_index(used_claims)),
      claims_loop_(caches, {.name = "pvc-protection"},
                   [this](const kube::Key& key, WallTime) { return claim_round(key); }),
      volumes_loop_(caches, {.name = "pv-protection"},
                    [this](const kube::Key& key, WallTime) { return volume_round(key); }) {
  claims_.on_change([this](const AnyRef&, const AnyRef& after) {
    if (after && is_held(*after, kClaimFinalizer)) claims_loop_.add(key_of(after->metadata));
  });
  pods_.on_change([this](const PodRef& before, const PodRef&) {
    if (!before) return;  // a new pod frees nothing
    std::vector<std::string> keys;
    used_claims(*before, keys);
    for (const std::string& key : keys)
      claims_loop_.add({before->metadata.ns, key.substr(before->metadata.ns.size() + 1)});
  });
  caches.on_synced([this] {
    claims_loop_.enable();
    volumes_loop_.enable();
  });
  volumes_.on_change([this](const AnyRef&, const AnyRef& after) {
    if (after && is_held(*after, kVolumeFinalizer)) volumes_loop_.add(key_of(after->metadata));
  });
}

kube::Round StorageProtection::claim_round(const kube::Key& key) {
  kube::Round round;
  AnyRef claim = claims_.get(key);
  if (claim && is_held(*claim, kClaimFinalizer) &&
      pods_.by(pods_by_claim_, key.ns + "/" + key.name).empty())
    round.writes.push_back(
        let_go(kube::resources::persistent_volume_claims, *claim, kClaimFinalizer));
  return round;
}

kube::Round StorageProtection::volume_round(const kube::Key& key) {
  kube::Round round;
  AnyRef volume = volumes_.get(key);
  if (volume && is_held(*volume, kVolumeFinalizer) &&
      json::string_at(volume->status, {"phase"}) != "Bound")
    round.writes.push_back(let_go(kube::resources::persistent_volumes, *volume, kVolumeFinalizer));
  return round;
}

}  // namespace hekla::controllers
