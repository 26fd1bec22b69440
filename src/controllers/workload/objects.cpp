#include "controllers/workload/objects.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace hekla::controllers {
namespace {

// A ReplicationController's selector is a map of labels; a label selector has no member that is
// text.
model::Labels plain_selector(const json::Object& selector) {
  model::Labels labels;
  for (const auto& member : selector)
    if (member.value().is_string())
      labels[std::string(member.key())] = json::sv(member.value().get_string());
  return labels;
}

}  // namespace

const json::Value& Workload::pod_template() const {
  static const json::Value none;
  const json::Value* found = json::find(spec, "template");
  return found ? *found : none;
}

std::optional<model::Selector> Workload::selector() const {
  const json::Value* found = json::find(spec, "selector");
  if (!found || !found->is_object()) return std::nullopt;
  if (auto labels = plain_selector(found->get_object()); !labels.empty())
    return model::Selector::of(labels);
  Result<model::Selector> parsed = model::Selector::from_label_selector(*found);
  if (!parsed || parsed->empty()) return std::nullopt;
  return std::move(*parsed);
}

kube::Key key_of(const model::ObjectMeta& metadata) { return {metadata.ns, metadata.name}; }

bool pod_finished(const model::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

bool pod_active(const model::Pod& pod) {
  return !pod_finished(pod) && !pod.metadata.deletionTimestamp;
}

bool pod_ready(const model::Pod& pod) {
  return std::any_of(
      pod.status.conditions.begin(), pod.status.conditions.end(),
      [](const model::PodCondition& one) { return one.type == "Ready" && one.status == "True"; });
}

void wake_in(std::optional<Nanos>& wait, Nanos delay) {
  if (!wait || delay < *wait) wait = delay;
}

bool pod_available(const model::Pod& pod, std::int64_t min_ready, WallTime now,
                   std::optional<Nanos>& wait) {
  if (!pod_ready(pod)) return false;
  if (min_ready == 0) return true;
  for (const model::PodCondition& one : pod.status.conditions) {
    if (one.type != "Ready" || !one.lastTransitionTime) continue;
    WallTime from = *one.lastTransitionTime.at + std::chrono::seconds(min_ready);
    if (from <= now) return true;
    wake_in(wait, from - now);
  }
  return false;
}

std::int64_t int_or_percent(const json::Value* value, std::int64_t total, bool round_up,
                            std::int64_t otherwise) {
  if (!value) return otherwise;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64()) return static_cast<std::int64_t>(value->get_uint64());
  if (!value->is_string()) return otherwise;
  std::string_view text = json::sv(value->get_string());
  std::int64_t percent = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end == text.data()) return otherwise;
  return (percent * total + (round_up ? 99 : 0)) / 100;
}

std::optional<kube::Write> status_write(const kube::Resource& resource, const Workload& object,
                                        const json::Object& wanted) {
  json::Object patch;
  if (object.status.is_object())
    for (const auto& member : object.status.get_object())
      if (!wanted.contains(member.key())) patch[member.key()] = nullptr;
  for (const auto& member : wanted) {
    const json::Value* old = json::find(object.status, member.key());
    if (!old || !json::equal(*old, member.value())) patch[member.key()] = member.value();
  }
  if (patch.empty()) return std::nullopt;
  return merge_patch(resource, key_of(object.metadata), json::Object{{"status", std::move(patch)}},
                     "status");
}

void put_count(json::Object& status, std::string_view member, std::int64_t count) {
  if (count != 0) status[member] = count;
}

const json::Value* find_condition(const json::Array& conditions, std::string_view type) {
  for (const json::Value& one : conditions)
    if (json::string_at(one, {"type"}) == type) return &one;
  return nullptr;
}

const json::Array& conditions_of(const Workload& object) {
  static const json::Array none;
  const json::Array* found = json::array_at(object.status, {"conditions"});
  return found ? *found : none;
}

void drop_condition(json::Array& conditions, std::string_view type) {
  for (auto it = conditions.begin(); it != conditions.end();)
    it = json::string_at(*it, {"type"}) == type ? conditions.erase(it) : it + 1;
}

namespace {

class Fnv32a {
 public:
  void add(std::string_view text) {
    for (char c : text) {
      hash_ ^= static_cast<unsigned char>(c);
      hash_ *= 16777619u;
    }
  }
  std::uint32_t value() const { return hash_; }

 private:
  std::uint32_t hash_ = 2166136261u;
};

// Members in alphabetical order: the hash must not depend on how a client ordered them.
void hash_sorted(Fnv32a& hash, const json::Value& value) {
  if (value.is_object()) {
    std::vector<std::string_view> keys;
    for (const auto& member : value.get_object()) keys.push_back(member.key());
    std::sort(keys.begin(), keys.end());
    hash.add("{");
    for (std::string_view key : keys) {
      hash.add(key);
      hash.add(":");
      hash_sorted(hash, *json::find(value, key));
      hash.add(",");
    }
    hash.add("}");
  } else if (value.is_array()) {
    hash.add("[");
    for (const json::Value& one : value.get_array()) {
      hash_sorted(hash, one);
      hash.add(",");
    }
    hash.add("]");
  } else {
    hash.add(json::serialize(value));
  }
}

}  // namespace

std::string template_hash(const json::Value& pod_template, std::optional<std::int64_t> collisions) {
  Fnv32a hash;
  hash_sorted(hash, pod_template);
  if (collisions) hash.add(std::to_string(*collisions));
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string text = std::to_string(hash.value());
  for (char& c : text) c = kLetters[static_cast<unsigned char>(c) % kLetters.size()];
  return text;
}

json::Value pod_from_template(const json::Value& pod_template, const std::string& ns,
                              const model::OwnerReference& owner) {
  json::Object metadata;
  for (std::string_view member : {"labels", "annotations", "finalizers"})
    if (const json::Value* found = json::find_path(pod_template, {"metadata", member}))
      metadata[member] = *found;
  metadata["namespace"] = ns;
  metadata["ownerReferences"] = json::Array{json::encode(owner)};
  const json::Value* spec = json::find(pod_template, "spec");
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"metadata", std::move(metadata)},
                      {"spec", spec ? *spec : json::Value(json::Object{})}};
}

json::Array owner_references(const model::ObjectMeta& metadata) {
  json::Array all;
  for (const model::OwnerReference& one : metadata.ownerReferences)
    all.push_back(json::encode(one));
  return all;
}

}  // namespace hekla::controllers
