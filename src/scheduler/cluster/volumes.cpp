#include "scheduler/cluster/volumes.h"

#include <algorithm>

#include "base/check.h"
#include "model/quantity.h"
#include "scheduler/cluster/pod_neighbours.h"

namespace hekla::scheduler {

namespace {

constexpr std::string_view kModes[] = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany",
                                       "ReadWriteOncePod"};
constexpr std::uint32_t kOncePod = 1u << 3;

std::uint32_t modes_of(const json::Value& object) {
  std::uint32_t modes = 0;
  if (const json::Array* given = json::array_at(object, {"spec", "accessModes"}))
    for (const json::Value& one : *given)
      for (std::size_t i = 0; i < std::size(kModes); ++i)
        if (one.is_string() && json::sv(one.get_string()) == kModes[i]) modes |= 1u << i;
  return modes;
}

std::int64_t bytes_at(const json::Value& object, std::initializer_list<std::string_view> path) {
  const json::Value* given = json::find_path(object, path);
  if (given == nullptr) return 0;
  Result<model::Quantity> amount = model::Quantity::from_json(*given);
  return amount ? amount->value() : 0;
}

// Of a gone object's place on the log only the key is left.
std::pair<std::string_view, std::string_view> split_key(std::string_view key) {
  std::size_t slash = key.find('/');
  return {key.substr(0, slash), slash == std::string_view::npos ? "" : key.substr(slash + 1)};
}

// "a__b" lists the values of one zone label.
std::vector<NameId> zone_values(std::string_view text, Names& names) {
  std::vector<NameId> out;
  while (true) {
    std::size_t end = text.find("__");
    out.push_back(names.intern(text.substr(0, end)));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 2);
  }
}

// Each with the name it had before.
constexpr const char* kZoneLabels[][2] = {
    {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"},
    {"topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"}};

}  // namespace

ClaimId Volumes::intern(std::string_view ns, std::string_view name) {
  std::string key = std::string(ns) + "/" + std::string(name);
  auto [at, added] = claim_ids_.emplace(std::move(key), static_cast<std::uint32_t>(claims_.size()));
  if (added) {
    claims_.emplace_back();
    claims_.back().ns = std::string(ns);
    claims_.back().name = std::string(name);
  }
  return ClaimId(at->second);
}

VolumeId Volumes::intern_volume(std::string_view name) {
  auto [at, added] =
      volume_ids_.emplace(std::string(name), static_cast<std::uint32_t>(volumes_.size()));
  if (added) {
    volumes_.emplace_back();
    volumes_.back().name = std::string(name);
  }
  return VolumeId(at->second);
}

void Volumes::leave(ClaimId claim, TaskId task) {
  std::vector<TaskId>& users = claims_[claim.index()].users;
  auto at = std::find(users.begin(), users.end(), task);
  CHECK(at != users.end(), "a pod leaves a claim it does not use");
  *at = users.back();
  users.pop_back();
}

// ---- objects

void Volumes::digest_claim(const std::string& key, const Companion* object, NodeId selected) {
  auto [ns, name] = split_key(key);
  ClaimId id = intern(ns, name);
  VolumeClaim made;
  VolumeClaim& known = claims_[id.index()];
  made.ns = known.ns;
  made.name = known.name;
  made.users = std::move(known.users);
  made.assumed_for = known.assumed_for;
  made.assumed_volume = known.assumed_volume;
  made.assumed_node = known.assumed_node;
  if (object != nullptr) {
    const json::Value& body = object->body;
    made.known = true;
    made.uid = object->metadata.uid;
    made.deleting = object->metadata.deletionTimestamp.at.has_value();
    made.lost = json::string_at(body, {"status", "phase"}) == "Lost";
    std::string_view volume = json::string_at(body, {"spec", "volumeName"});
    if (!volume.empty()) made.volume = intern_volume(volume);
    made.bound = made.volume.valid() &&
                 !object->metadata.annotation("pv.kubernetes.io/bind-completed").empty();
    made.has_class = json::find_path(body, {"spec", "storageClassName"}) != nullptr;
    made.class_name = std::string(json::string_at(body, {"spec", "storageClassName"}));
    made.bytes = bytes_at(body, {"spec", "resources", "requests", "storage"});
    made.modes = modes_of(body);
    made.once_pod = (made.modes & kOncePod) != 0;
    made.block = json::string_at(body, {"spec", "volumeMode"}) == "Block";
    if (const json::Value* selector = json::find_path(body, {"spec", "selector"});
        selector != nullptr && selector->is_object()) {
      made.has_selector = true;
      if (Result<model::Selector> read = model::Selector::from_label_selector(*selector))
        made.selector = std::move(*read);
    }
    made.selected = selected;
  }
  known = std::move(made);
  // The API says what was promised: from here on it is its word.
  if (known.bound || known.selected.valid() || !known.known) forget_assumption(known);
}

void Volumes::digest_volume(const std::string& key, const Companion* object, Names& names) {
  VolumeId id = intern_volume(key);
  Volume& known = volumes_[id.index()];
  if (known.known) std::erase(by_class_[known.class_name], id);
  Volume made;
  made.name = known.name;
  made.assumed_by = known.assumed_by;
  if (object != nullptr) {
    const json::Value& body = object->body;
    made.known = true;
    std::string_view phase = json::string_at(body, {"status", "phase"});
    made.available = phase != "Released" && phase != "Failed" &&
                     !object->metadata.deletionTimestamp.at.has_value();
    if (std::string_view name = json::string_at(body, {"spec", "claimRef", "name"}); !name.empty())
      made.claim = std::string(json::string_at(body, {"spec", "claimRef", "namespace"})) + "/" +
                   std::string(name);
    made.claim_uid = std::string(json::string_at(body, {"spec", "claimRef", "uid"}));
    made.class_name = std::string(json::string_at(body, {"spec", "storageClassName"}));
    made.bytes = bytes_at(body, {"spec", "capacity", "storage"});
    made.modes = modes_of(body);
    made.block = json::string_at(body, {"spec", "volumeMode"}) == "Block";
    if (const json::Array* terms =
            json::array_at(body, {"spec", "nodeAffinity", "required", "nodeSelectorTerms"})) {
      made.has_affinity = true;
      for (const json::Value& term : *terms) made.reachable.push_back(make_node_term(term, names));
    }
    for (const auto& [label, old] : kZoneLabels) {
      const std::string& now = object->metadata.label(label);
      const std::string& value = now.empty() ? object->metadata.label(old) : now;
      if (!value.empty())
        made.zones.push_back({names.intern(label), names.intern(old), zone_values(value, names)});
    }
    made.labels = object->metadata.labels;
    made.driver = std::string(json::string_at(body, {"spec", "csi", "driver"}));
    made.handle = std::string(json::string_at(body, {"spec", "csi", "volumeHandle"}));
    by_class_[made.class_name].push_back(id);
  }
  known = std::move(made);
}

void Volumes::digest_class(const std::string& key, const Companion* object, Names& names) {
  if (object == nullptr) {
    classes_.erase(key);
    return;
  }
  StorageClass made;
  const json::Value& body = object->body;
  made.waits = json::string_at(body, {"volumeBindingMode"}) == "WaitForFirstConsumer";
  made.provisioner = std::string(json::string_at(body, {"provisioner"}));
  made.provisions = !made.provisioner.empty() && made.provisioner != "kubernetes.io/no-provisioner";
  made.is_default =
      object->metadata.annotation("storageclass.kubernetes.io/is-default-class") == "true";
  if (const json::Array* terms = json::array_at(body, {"allowedTopologies"})) {
    for (const json::Value& term : *terms) {
      NodeTerm allowed;
      if (const json::Array* labels = json::array_at(term, {"matchLabelExpressions"}))
        for (const json::Value& one : *labels) {
          json::Value requirement = one;
          requirement.as_object()["operator"] = "In";
          allowed.labels.push_back(make_requirement(requirement, names));
        }
      made.topologies.push_back(std::move(allowed));
    }
  }
  classes_[key] = std::move(made);
}

void Volumes::digest_csi_node(const std::string& key, const Companion* object) {
  limits_.erase(key);
  if (object == nullptr) return;
  const json::Array* drivers = json::array_at(object->body, {"spec", "drivers"});
  for (std::size_t i = 0; drivers != nullptr && i < drivers->size(); ++i) {
    const json::Value& driver = (*drivers)[i];
    if (json::find_path(driver, {"allocatable", "count"}) != nullptr)
      limits_[key][std::string(json::string_at(driver, {"name"}))] =
          json::int_at(driver, {"allocatable", "count"});
  }
}

// ---- questions

const StorageClass* Volumes::class_of(const VolumeClaim& claim) const {
  if (claim.has_class) {
    auto found = classes_.find(claim.class_name);
    return found == classes_.end() ? nullptr : &found->second;
  }
  for (const auto& [name, one] : classes_)
    if (one.is_default) return &one;
  return nullptr;
}

VolumeId Volumes::match(ClaimId id, const Node& node, const Names& names) const {
  const VolumeClaim& claim = at(id);
  const std::string key = claim.ns + "/" + claim.name;
  auto listed = by_class_.find(claim.class_name);
  VolumeId best;
  if (listed == by_class_.end()) return best;
  for (VolumeId one : listed->second) {
    const Volume& volume = at(one);
    bool kept = volume.claim == key && (volume.claim_uid.empty() || volume.claim_uid == claim.uid);
    bool free = volume.available && (volume.claim.empty() || kept) &&
                (!volume.assumed_by.valid() || volume.assumed_by == id);
    if (!free || volume.bytes < claim.bytes || (claim.modes & ~volume.modes) != 0 ||
        volume.block != claim.block)
      continue;
    if (claim.has_selector && !claim.selector.matches(volume.labels)) continue;
    if (volume.has_affinity &&
        std::none_of(volume.reachable.begin(), volume.reachable.end(),
                     [&](const NodeTerm& term) { return matches(term, node, names); }))
      continue;
    if (kept) return one;
    if (!best.valid() || volume.bytes < at(best).bytes ||
        (volume.bytes == at(best).bytes && volume.name < at(best).name))
      best = one;
  }
  return best;
}

std::int64_t Volumes::limit(std::string_view node, std::string_view driver) const {
  auto found = limits_.find(node);
  if (found == limits_.end()) return -1;
  auto count = found->second.find(driver);
  return count == found->second.end() ? -1 : count->second;
}

// ---- promises

void Volumes::assume(TaskId task, ClaimId id, VolumeId volume, NodeId node) {
  VolumeClaim& claim = claims_[id.index()];
  if (claim.assumed_for.valid()) return;  // another pod of the same claim came first
  claim.assumed_for = task;
  claim.assumed_volume = volume;
  claim.assumed_node = volume.valid() ? NodeId() : node;
  if (volume.valid()) volumes_[volume.index()].assumed_by = id;
}

void Volumes::forget_assumption(VolumeClaim& claim) {
  if (claim.assumed_volume.valid()) volumes_[claim.assumed_volume.index()].assumed_by = {};
  claim.assumed_for = {};
  claim.assumed_volume = {};
  claim.assumed_node = {};
}

void Volumes::release(TaskId task, const std::vector<ClaimUse>& claims) {
  for (const ClaimUse& use : claims)
    if (claims_[use.claim.index()].assumed_for == task)
      forget_assumption(claims_[use.claim.index()]);
}

}  // namespace hekla::scheduler
