#include "controllers/workbench/claim_node.h"

#include <algorithm>

namespace hekla::controllers::workbench {

using json::Array;
using json::Object;
namespace resources = kube::resources;

namespace {

bool one_node_only(const framework::AnyObject& claim) {
  const Array* modes = json::array_at(claim.spec, {"accessModes"});
  return modes && std::ranges::any_of(*modes, [](const json::Value& mode) {
           return mode.is_string() && json::sv(mode.get_string()) == "ReadWriteOnce";
         });
}

bool mounts(const model::Pod& pod, const std::string& claim) {
  return std::ranges::any_of(pod.spec.volumes, [&](const json::Value& volume) {
    return json::string_at(volume, {"persistentVolumeClaim", "claimName"}) == claim;
  });
}

}  // namespace

std::optional<json::Value> affinity_of_claim(const framework::View& view, const kube::Key& claim) {
  framework::AnyRef found = view.find(resources::persistent_volume_claims, claim);
  if (!found || !one_node_only(*found)) return std::nullopt;
  for (const framework::PodRef& pod : view.list<model::Pod>(resources::pods, claim.ns)) {
    if (pod->status.phase != "Running" || pod->spec.nodeName.empty() || !mounts(*pod, claim.name))
      continue;
    Object term{{"matchExpressions", Array{Object{{"key", "kubernetes.io/hostname"},
                                                  {"operator", "In"},
                                                  {"values", Array{pod->spec.nodeName}}}}}};
    Object preferred{{"weight", 100}, {"preference", std::move(term)}};
    return Object{{"nodeAffinity", Object{{"preferredDuringSchedulingIgnoredDuringExecution",
                                           Array{std::move(preferred)}}}}};
  }
  return std::nullopt;
}

}  // namespace hekla::controllers::workbench
