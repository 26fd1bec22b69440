#include "controllers/podgroup/plain_group.h"

#include <charconv>

#include "controllers/framework/quota.h"

namespace hekla::controllers {
namespace {

namespace keys = model::keys;

const std::string kMinMember = "scheduling.volcano.sh/group-min-member";
const std::string kTopologyMode = "volcano.sh/network-topology-mode";
const std::string kTopologyTier = "volcano.sh/network-topology-highest-tier";

std::optional<std::int32_t> parse_number(const std::string& text) {
  std::int32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::int32_t min_member(const std::map<std::string, std::string>& owner_annotations) {
  auto found = owner_annotations.find(kMinMember);
  if (found == owner_annotations.end()) return 1;
  std::optional<std::int32_t> number = parse_number(found->second);
  return number && *number >= 0 ? *number : 1;
}

std::optional<model::NetworkTopologySpec> topology(const model::Pod& pod) {
  std::string mode = pod.metadata.annotation(kTopologyMode);
  std::optional<std::int32_t> tier = parse_number(pod.metadata.annotation(kTopologyTier));
  if (mode.empty() && !tier) return std::nullopt;
  for (char& c : mode)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  model::NetworkTopologySpec spec;
  spec.mode = mode == "soft" ? "soft" : "hard";
  spec.highestTierAllowed = tier;
  return spec;
}

void copy(const std::map<std::string, std::string>& from, const std::string& key,
          json::Object& to) {
  if (auto found = from.find(key); found != from.end()) to[key] = found->second;
}

}  // namespace

std::string plain_group_name(const model::Pod& pod) {
  const model::OwnerReference* owner = pod.metadata.controller();
  return "podgroup-" + (owner ? owner->uid : pod.metadata.uid);
}

json::Value make_plain_group(const model::Pod& pod,
                             const std::map<std::string, std::string>& owner_annotations) {
  const auto& annotated = pod.metadata.annotations;
  json::Object annotations, labels;
  for (const auto& [key, value] : owner_annotations)
    if (key.starts_with("volcano.sh/")) annotations[key] = value;
  for (const std::string& key : {keys::preemptable, keys::cooldown_time, keys::revocable_zone})
    copy(annotated, key, annotations);
  copy(annotated,
       annotated.contains(keys::jdb_min_available) ? keys::jdb_min_available
                                                   : keys::jdb_max_unavailable,
       annotations);
  for (const std::string& key : {keys::preemptable, keys::cooldown_time})
    copy(pod.metadata.labels, key, labels);

  model::PodGroupSpec spec;
  spec.minMember = min_member(owner_annotations);
  spec.priorityClassName = pod.spec.priorityClassName;
  const std::string& queue = pod.metadata.annotation(keys::queue_name);
  spec.queue = queue.empty() ? "default" : queue;
  spec.networkTopology = topology(pod);
  spec.minResources.emplace();
  add_times(*spec.minResources, pod_quota_usage(pod.spec), spec.minMember);

  json::Array owners;
  if (pod.metadata.controller())
    owners = json::encode(pod.metadata.ownerReferences).get_array();
  else
    owners.push_back(json::encode(model::controller_reference("v1", "Pod", pod.metadata)));
  json::Object metadata{{"name", plain_group_name(pod)},
                        {"namespace", pod.metadata.ns},
                        {"ownerReferences", std::move(owners)}};
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  return json::Object{{"apiVersion", "scheduling.volcano.sh/v1beta1"},
                      {"kind", "PodGroup"},
                      {"metadata", std::move(metadata)},
                      {"spec", json::encode(spec)},
                      {"status", json::Object{{"phase", "Pending"}}}};
}

}  // namespace hekla::controllers
