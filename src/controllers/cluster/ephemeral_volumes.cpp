#include "controllers/cluster/ephemeral_volumes.h"

#include <algorithm>

#include "controllers/vocabulary.h"

namespace hekla::controllers {
namespace {

using kube::resources::persistent_volume_claims;

std::string claim_name(const model::Pod& pod, const json::Value& volume) {
  return pod.metadata.name + "-" + std::string(json::string_at(volume, {"name"}));
}

const json::Value* claim_template(const json::Value& volume) {
  return json::find_path(volume, {"ephemeral", "volumeClaimTemplate"});
}

Child claim_for(const model::Pod& pod, const json::Value& volume) {
  json::Object metadata{{"name", claim_name(pod, volume)}};
  for (std::string_view member : {"labels", "annotations"})
    if (const json::Object* given = json::object_at(*claim_template(volume), {"metadata", member}))
      metadata[member] = *given;
  const json::Value* spec = json::find(*claim_template(volume), "spec");
  ChildWords words;
  words.create_failed = {"Warning", "FailedBinding",
                         "ephemeral volume " + std::string(json::string_at(volume, {"name"})) +
                             ": create PVC {name}: {error}"};
  return {.resource = persistent_volume_claims,
          .body = json::Object{{"metadata", std::move(metadata)},
                               {"spec", spec ? *spec : json::Value(json::Object())}},
          .care = Care::create_once,
          .words = std::make_shared<const ChildWords>(std::move(words))};
}

Outcome reconcile_ephemeral_volumes(const AnyObject& object, const View& view) {
  Outcome outcome;
  PodRef pod = view.find<model::Pod>(kube::resources::pods, key_of(object.metadata));
  if (pod_finished(*pod)) return outcome;
  const std::string& ns = pod->metadata.ns;
  for (const json::Value& volume : pod->spec.volumes) {
    if (!claim_template(volume)) continue;
    AnyRef claim = view.find(persistent_volume_claims, {ns, claim_name(*pod, volume)});
    const model::OwnerReference* owner = claim ? claim->metadata.controller() : nullptr;
    if (!claim)
      outcome.children.push_back(claim_for(*pod, volume));
    else if (!owner || owner->uid != pod->metadata.uid)
      outcome.tell("Warning", "FailedBinding",
                   "ephemeral volume " + std::string(json::string_at(volume, {"name"})) + ": PVC " +
                       ns + "/" + claim->metadata.name + " was not created for pod " + ns + "/" +
                       pod->metadata.name + " (pod is not owner)");
  }
  return outcome;
}

// Pods with such volumes, and those that wait for a claim that stood in their way.
void attach(kube::CacheSet& caches, const Wake& wake) {
  auto& pods = caches.of<model::Pod>(kube::resources::pods);
  const int by_claim = pods.add_index([](const model::Pod& pod, std::vector<std::string>& keys) {
    for (const json::Value& volume : pod.spec.volumes)
      if (claim_template(volume)) keys.push_back(pod.metadata.ns + "/" + claim_name(pod, volume));
  });
  pods.on_change([wake](const PodRef&, const PodRef& after) {
    if (after &&
        std::any_of(after->spec.volumes.begin(), after->spec.volumes.end(), claim_template))
      wake(key_of(after->metadata));
  });
  caches.of<AnyObject>(persistent_volume_claims)
      .on_change([wake, &pods, by_claim](const AnyRef& before, const AnyRef& after) {
        if (after) return;
        const std::string key = before->metadata.ns + "/" + before->metadata.name;
        for (const PodRef& pod : pods.by(by_claim, key)) wake(key_of(pod->metadata));
      });
}

}  // namespace

KindDescription ephemeral_volume_kind() {
  return {.name = "ephemeral-volumes",
          .event_source = "ephemeral_volume",
          .resource = kube::resources::pods,
          .owns = {{.resource = persistent_volume_claims, .wakes = false}},
          .follows = {{kube::resources::pods, attach}},
          .reconcile = reconcile_ephemeral_volumes,
          .wakes_itself = false};
}

}  // namespace hekla::controllers
