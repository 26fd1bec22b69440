#include "controllers/cluster/ephemeral_volumes.h"

#include <algorithm>

namespace hekla::controllers {
namespace {

using kube::resources::persistent_volume_claims;

std::string claim_name(const model::Pod& pod, const json::Value& volume) {
  return pod.metadata.name + "-" + std::string(json::string_at(volume, {"name"}));
}

const json::Value* claim_template(const json::Value& volume) {
  return json::find_path(volume, {"ephemeral", "volumeClaimTemplate"});
}

json::Value claim_for(const model::Pod& pod, const json::Value& volume) {
  json::Object metadata{
      {"name", claim_name(pod, volume)},
      {"namespace", pod.metadata.ns},
      {"ownerReferences",
       json::Array{json::encode(model::controller_reference("v1", "Pod", pod.metadata))}}};
  for (std::string_view member : {"labels", "annotations"})
    if (const json::Object* given = json::object_at(*claim_template(volume), {"metadata", member}))
      metadata[member] = *given;
  const json::Value* spec = json::find(*claim_template(volume), "spec");
  return json::Object{{"apiVersion", "v1"},
                      {"kind", persistent_volume_claims.kind},
                      {"metadata", std::move(metadata)},
                      {"spec", spec ? *spec : json::Value(json::Object())}};
}

}  // namespace

EphemeralVolumes::EphemeralVolumes(WorkloadCaches& caches)
    : caches_(caches),
      events_(caches.client, "ephemeral_volume"),
      pods_by_claim_(
          caches.pods.add_index([](const model::Pod& pod, std::vector<std::string>& keys) {
            for (const json::Value& volume : pod.spec.volumes)
              if (claim_template(volume))
                keys.push_back(pod.metadata.ns + "/" + claim_name(pod, volume));
          })),
      loop_(
          caches.client, kube::ReconcileOptions{.name = "ephemeral-volumes"},
          [this](const kube::Key& key, WallTime) { return pod_round(key); },
          [this](const kube::Write& write, const kube::ObjectPtr& result) {
            caches_.overlay(write, result);
          }) {
  caches_.pods.on_change([this](const WorkloadPod&, const WorkloadPod& after) {
    if (after &&
        std::any_of(after->spec.volumes.begin(), after->spec.volumes.end(), claim_template))
      loop_.add(key_of(after->metadata));
  });
  // One that stood in the way, or was deleted by mistake.
  caches_.claims.on_change([this](const WorkloadRef& before, const WorkloadRef& after) {
    if (after) return;
    for (const WorkloadPod& pod :
         caches_.pods.by(pods_by_claim_, before->metadata.ns + "/" + before->metadata.name))
      loop_.add(key_of(pod->metadata));
  });
  caches_.on_synced([this] { loop_.enable(); });
}

kube::Round EphemeralVolumes::pod_round(const kube::Key& key) {
  kube::Round round;
  WorkloadPod pod = caches_.pods.get(key);
  if (!pod || pod->metadata.deletionTimestamp || pod_finished(*pod)) return round;
  std::vector<std::string> volumes;
  for (const json::Value& volume : pod->spec.volumes) {
    if (!claim_template(volume)) continue;
    const std::string name = claim_name(*pod, volume), title(json::string_at(volume, {"name"}));
    if (WorkloadRef claim = caches_.claims.get({key.ns, name})) {
      const model::OwnerReference* owner = claim->metadata.controller();
      if (!owner || owner->uid != pod->metadata.uid)
        failed(*pod, title,
               "PVC " + key.ns + "/" + name + " was not created for pod " + key.ns + "/" +
                   key.name + " (pod is not owner)");
      continue;
    }
    round.writes.push_back(create(persistent_volume_claims, key.ns, claim_for(*pod, volume)));
    volumes.push_back(title);
  }
  round.settle = [this, pod,
                  volumes](const std::vector<kube::WriteResult>& results) -> Result<void> {
    Result<void> outcome;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i]) continue;
      failed(*pod, volumes[i],
             "create PVC " + pod->metadata.name + "-" + volumes[i] + ": " +
                 results[i].error().message);
      outcome = std::unexpected(results[i].error());
    }
    return outcome;
  };
  return round;
}

void EphemeralVolumes::failed(const model::Pod& pod, const std::string& volume,
                              const std::string& why) {
  events_.record({"v1", "Pod", pod.metadata.ns, pod.metadata.name, pod.metadata.uid}, "Warning",
                 "FailedBinding", "ephemeral volume " + volume + ": " + why);
}

}  // namespace hekla::controllers
