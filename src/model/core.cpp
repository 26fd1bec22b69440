#include "model/core.h"

namespace hekla::model {
namespace {

void raise_to(ResourceList& to, const ResourceList& other) {
  for (const auto& [name, quantity] : other) {
    const auto [at, fresh] = to.try_emplace(name, quantity);
    if (!fresh && at->second < quantity) at->second = quantity;
  }
}

// Kubernetes honours pod-level requests for these only.
bool is_pod_level(const std::string& resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

}  // namespace

Result<Toleration> Toleration::from_node(const json::Node& node) {
  Toleration toleration;
  if (!node.is_object()) return json::detail::wrong_kind("", "object", node);
  TRY(json::decode_member(node, "key", toleration.key));
  TRY(json::decode_member(node, "operator", toleration.op));
  TRY(json::decode_member(node, "value", toleration.value));
  TRY(json::decode_member(node, "effect", toleration.effect));
  TRY(json::decode_member(node, "tolerationSeconds", toleration.tolerationSeconds));
  return toleration;
}

json::Value Toleration::to_json() const {
  json::Object object;
  json::encode_member(object, "key", key);
  json::encode_member(object, "operator", op);
  json::encode_member(object, "value", value);
  json::encode_member(object, "effect", effect);
  json::encode_member(object, "tolerationSeconds", tolerationSeconds);
  return object;
}

// component-helpers' resource.PodRequests (v1.34). Init containers run one after another, each beside the
// sidecars (init containers that are restarted always) started before it.
ResourceList pod_requests(const PodSpec& spec) {
  ResourceList total;
  for (const Container& container : spec.containers) add(total, container.resources.requests);
  ResourceList sidecars, peak;
  for (const Container& container : spec.initContainers) {
    const ResourceList& requests = container.resources.requests;
    if (container.restartPolicy == "Always") {
      add(total, requests);
      add(sidecars, requests);
      raise_to(peak, sidecars);
    } else {
      ResourceList during = requests;
      add(during, sidecars);
      raise_to(peak, during);
    }
  }
  raise_to(total, peak);
  for (const auto& [name, quantity] : spec.resources.requests)
    if (is_pod_level(name)) total[name] = quantity;
  add(total, spec.overhead);
  return total;
}

}  // namespace hekla::model
