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
  if (!node.is_object()) return json::detail::wrong_kind("object", node);
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

namespace {

// component-helpers' resource.PodRequests (v1.34). Init containers run one after another, each
// beside the sidecars (init containers that are restarted always) started before it.
template <class RequestsOf>
ResourceList sum_requests(const PodSpec& spec, RequestsOf requests_of) {
  ResourceList total;
  for (const Container& container : spec.containers) add(total, requests_of(container));
  ResourceList sidecars, peak;
  for (const Container& container : spec.initContainers) {
    if (container.restartPolicy == "Always") {
      const ResourceList& requests = requests_of(container);
      add(total, requests);
      add(sidecars, requests);
      raise_to(peak, sidecars);
    } else {
      ResourceList during = container.resources.requests;
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

bool is_resize_infeasible(const Pod& pod) {
  for (const PodCondition& condition : pod.status.conditions)
    if (condition.type == "PodResizePending") return condition.reason == "Infeasible";
  return false;
}

const ContainerStatus* status_of(const Pod& pod, const std::string& container) {
  for (const auto* statuses : {&pod.status.containerStatuses, &pod.status.initContainerStatuses})
    for (const ContainerStatus& status : *statuses)
      if (status.name == container) return &status;
  return nullptr;
}

}  // namespace

ResourceList pod_requests(const PodSpec& spec) {
  return sum_requests(
      spec, [](const Container& one) -> const ResourceList& { return one.resources.requests; });
}

// helpers.go's determineContainerReqs: a resize that can never be made is not counted.
ResourceList pod_requests(const Pod& pod) {
  if (pod.status.containerStatuses.empty()) return pod_requests(pod.spec);
  const bool infeasible = is_resize_infeasible(pod);
  return sum_requests(pod.spec, [&](const Container& one) {
    const ContainerStatus* status = status_of(pod, one.name);
    if (status == nullptr || !status->resources) return one.resources.requests;
    ResourceList most = infeasible ? ResourceList() : one.resources.requests;
    raise_to(most, status->resources->requests);
    raise_to(most, status->allocatedResources);
    return most;
  });
}

}  // namespace hekla::model

JSON_CODEC_DEFINE(hekla::model::Quantity);
JSON_CODEC_DEFINE(hekla::model::ResourceList);
JSON_CODEC_DEFINE(hekla::model::Container);
JSON_CODEC_DEFINE(hekla::model::PodSpec);
JSON_CODEC_DEFINE(hekla::model::PodStatus);
JSON_CODEC_DEFINE(hekla::model::Pod);
JSON_CODEC_DEFINE(hekla::model::Node);
JSON_CODEC_DEFINE(hekla::model::Service);
JSON_CODEC_DEFINE(hekla::model::ConfigMap);
JSON_CODEC_DEFINE(hekla::model::Secret);
JSON_CODEC_DEFINE(hekla::model::PriorityClass);
JSON_CODEC_DEFINE(std::vector<hekla::model::Container>);
JSON_CODEC_DEFINE(std::vector<hekla::model::PodCondition>);
