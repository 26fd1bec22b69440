#include "controllers/volcano/podgroup/plain_group.h"

#include <charconv>

#include "framework/quota.h"
#include "json/patch.h"

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

namespace {

json::Object group_annotations(const model::Pod& pod,
                               const std::map<std::string, std::string>& owner_annotations) {
  const auto& annotated = pod.metadata.annotations;
  json::Object annotations;
  for (const auto& [key, value] : owner_annotations)
    if (key.starts_with("volcano.sh/")) annotations[key] = value;
  for (const std::string& key : {keys::preemptable, keys::cooldown_time, keys::revocable_zone})
    copy(annotated, key, annotations);
  copy(annotated,
       annotated.contains(keys::jdb_min_available) ? keys::jdb_min_available
                                                   : keys::jdb_max_unavailable,
       annotations);
  return annotations;
}

json::Object group_labels(const model::Pod& pod) {
  json::Object labels;
  for (const std::string& key : {keys::preemptable, keys::cooldown_time})
    copy(pod.metadata.labels, key, labels);
  return labels;
}

// What pod and owner say; everything else of `spec` stays.
void fill_spec(const model::Pod& pod, const std::map<std::string, std::string>& owner_annotations,
               model::PodGroupSpec& spec) {
  spec.minMember = min_member(owner_annotations);
  spec.priorityClassName = pod.spec.priorityClassName;
  const std::string& queue = pod.metadata.annotation(keys::queue_name);
  if (!queue.empty()) spec.queue = queue;
  if (auto wish = topology(pod)) spec.networkTopology = wish;
  spec.minResources.emplace();
  framework::add_times(*spec.minResources, framework::pod_quota_usage(pod.spec), spec.minMember);
}

// Those of `wanted` that `have` lacks or has otherwise.
json::Object missing(const json::Object& wanted, const std::map<std::string, std::string>& have) {
  json::Object more;
  for (const auto& member : wanted) {
    auto found = have.find(std::string(member.key()));
    if (found == have.end() || found->second != json::sv(member.value().get_string()))
      more[member.key()] = member.value();
  }
  return more;
}

}  // namespace

json::Value make_plain_group(const model::Pod& pod,
                             const std::map<std::string, std::string>& owner_annotations) {
  json::Object annotations = group_annotations(pod, owner_annotations);
  json::Object labels = group_labels(pod);
  model::PodGroupSpec spec;
  spec.queue = "default";
  fill_spec(pod, owner_annotations, spec);

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

json::Object plain_group_patch(const model::PodGroup& group, const model::Pod& pod,
                               const std::map<std::string, std::string>& owner_annotations) {
  model::PodGroupSpec spec = group.spec;
  fill_spec(pod, owner_annotations, spec);
  json::Object patch, metadata;
  json::Value before = json::encode(group.spec), after = json::encode(spec);
  if (!json::equal(before, after)) patch["spec"] = json::diff_merge(before, after);
  json::Object annotations =
      missing(group_annotations(pod, owner_annotations), group.metadata.annotations);
  json::Object labels = missing(group_labels(pod), group.metadata.labels);
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  if (!metadata.empty()) patch["metadata"] = std::move(metadata);
  return patch;
}

}  // namespace hekla::controllers
