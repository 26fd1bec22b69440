#include <algorithm>
#include <charconv>

#include "controllers/workload/stateful_set.h"

namespace hekla::controllers {

std::int64_t ordinal_of(const std::string& set, const std::string& pod) {
  if (!pod.starts_with(set + "-")) return -1;
  std::string_view tail = std::string_view(pod).substr(set.size() + 1);
  std::int64_t number = -1;
  auto [end, error] = std::from_chars(tail.data(), tail.data() + tail.size(), number);
  bool whole = error == std::errc() && end == tail.data() + tail.size();
  return whole && std::to_string(number) == tail ? number : -1;
}

json::Value new_stateful_pod(const AnyObject& set, std::int64_t ordinal,
                             const TemplateRevision& revision) {
  json::Value pod = pod_from_template(revision.pod_template);
  std::string name = set.metadata.name + "-" + std::to_string(ordinal);
  json::at_path(pod, {"metadata", "name"}) = name;
  json::at_path(pod, {"metadata", "labels", "statefulset.kubernetes.io/pod-name"}) = name;
  json::at_path(pod, {"metadata", "labels", "apps.kubernetes.io/pod-index"}) =
      std::to_string(ordinal);
  json::at_path(pod, {"metadata", "labels", "controller-revision-hash"}) = revision.name;
  json::at_path(pod, {"spec", "hostname"}) = name;
  std::string_view service = json::string_at(set.spec, {"serviceName"});
  if (!service.empty()) json::at_path(pod, {"spec", "subdomain"}) = service;
  const json::Array* templates = json::array_at(set.spec, {"volumeClaimTemplates"});
  if (!templates) return pod;
  json::Array volumes;
  std::set<std::string_view> own;
  for (const json::Value& one : *templates) {
    std::string_view volume = json::string_at(one, {"metadata", "name"});
    own.insert(volume);
    json::Object source{{"claimName", std::string(volume) + "-" + name}};
    volumes.push_back(json::Object{{"name", volume}, {"persistentVolumeClaim", std::move(source)}});
  }
  if (const json::Array* given = json::array_at(pod, {"spec", "volumes"}))
    for (const json::Value& one : *given)
      if (!own.contains(json::string_at(one, {"name"}))) volumes.push_back(one);
  json::at_path(pod, {"spec", "volumes"}) = std::move(volumes);
  return pod;
}

std::map<std::string, json::Value> claims_of(const AnyObject& set, std::int64_t ordinal) {
  std::map<std::string, json::Value> claims;
  const json::Array* templates = json::array_at(set.spec, {"volumeClaimTemplates"});
  if (!templates) return claims;
  std::string pod = set.metadata.name + "-" + std::to_string(ordinal);
  for (const json::Value& one : *templates) {
    std::string name = std::string(json::string_at(one, {"metadata", "name"})) + "-" + pod;
    json::Value claim = one;
    claim.get_object().erase("status");
    json::at_path(claim, {"apiVersion"}) = "v1";
    json::at_path(claim, {"kind"}) = "PersistentVolumeClaim";
    json::at_path(claim, {"metadata", "name"}) = name;
    json::at_path(claim, {"metadata", "namespace"}) = set.metadata.ns;
    json::at_path(claim, {"metadata"}).get_object().erase("creationTimestamp");
    if (const json::Object* labels = json::object_at(set.spec, {"selector", "matchLabels"}))
      for (const auto& label : *labels)
        json::at_path(claim, {"metadata", "labels", label.key()}) = label.value();
    claims[name] = std::move(claim);
  }
  return claims;
}

}  // namespace hekla::controllers
