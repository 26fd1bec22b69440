#include "apiserver/managed_fields.h"

#include <algorithm>

#include "apiserver/metadata.h"
#include "apiserver/subresources.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

constexpr std::size_t kMaxUpdateManagers = 10;
constexpr std::string_view kAncient = "ancient-changes";

bool is_update(const ManagedEntry& entry) { return !entry.owner.apply; }

// Upstream keeps ten Update entries; older ones are folded into one.
void cap_updates(std::vector<ManagedEntry>& entries) {
  std::size_t updates =
      static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), is_update));
  if (updates <= kMaxUpdateManagers) return;
  std::stable_sort(entries.begin(), entries.end(), [](const ManagedEntry& a, const ManagedEntry& b) {
    return a.time < b.time;
  });
  ManagedEntry ancient;
  std::vector<ManagedEntry> kept;
  std::size_t surplus = updates - kMaxUpdateManagers + 1;
  for (ManagedEntry& entry : entries) {
    if (surplus == 0 || !is_update(entry)) {
      kept.push_back(std::move(entry));
      continue;
    }
    --surplus;
    ancient.owner = entry.owner;
    ancient.owner.manager = kAncient;
    ancient.time = entry.time;
    ancient.fields.unite(entry.fields);
  }
  kept.insert(kept.begin(), std::move(ancient));
  entries = std::move(kept);
}

// `[{}]` is how a client asks for ownership to be forgotten.
bool asks_for_reset(const json::Value& object) {
  const json::Array* given = json::array_at(object, {"metadata", "managedFields"});
  return given && given->size() == 1 && given->front().is_object() &&
         given->front().get_object().empty();
}

std::vector<ManagedEntry> managers_before(const json::Value& live, const json::Value& object) {
  const json::Array* given = json::array_at(object, {"metadata", "managedFields"});
  return read_managed_fields(given && !given->empty() ? object : live);
}

void drop(FieldSet& set, std::string_view element) { set.children.erase(std::string(element)); }

}  // namespace

std::vector<ManagedEntry> read_managed_fields(const json::Value& object) {
  std::vector<ManagedEntry> entries;
  const json::Array* all = json::array_at(object, {"metadata", "managedFields"});
  if (!all) return entries;
  for (const json::Value& one : *all) {
    ManagedEntry entry;
    entry.owner.manager = json::string_at(one, {"manager"});
    entry.owner.api_version = json::string_at(one, {"apiVersion"});
    entry.owner.subresource = json::string_at(one, {"subresource"});
    entry.owner.apply = json::string_at(one, {"operation"}) == "Apply";
    entry.time = json::string_at(one, {"time"});
    if (const json::Value* fields = json::find(one, "fieldsV1"))
      entry.fields = FieldSet::from_fields_v1(*fields);
    if (!entry.fields.empty()) entries.push_back(std::move(entry));
  }
  return entries;
}

void write_managed_fields(json::Value& object, const std::vector<ManagedEntry>& entries) {
  json::Object& metadata = metadata_of(object);
  if (entries.empty()) {
    metadata.erase("managedFields");
    return;
  }
  const json::Storage& storage = metadata.storage();
  json::Array all(storage);
  all.reserve(entries.size());
  for (const ManagedEntry& entry : entries) {
    json::Object one(storage);
    one.emplace("apiVersion", entry.owner.api_version);
    one.emplace("fieldsType", "FieldsV1");
    one.emplace("fieldsV1", entry.fields.to_fields_v1(storage));
    one.emplace("manager", entry.owner.manager);
    one.emplace("operation", entry.owner.apply ? "Apply" : "Update");
    if (!entry.owner.subresource.empty()) one.emplace("subresource", entry.owner.subresource);
    if (!entry.time.empty()) one.emplace("time", entry.time);
    all.push_back(std::move(one));
  }
  metadata["managedFields"] = std::move(all);
}

void strip_unowned(const Kind& kind, std::string_view subresource, FieldSet& fields) {
  drop(fields, "f:apiVersion");
  drop(fields, "f:kind");
  fields.self = false;
  if (auto metadata = fields.children.find("f:metadata"); metadata != fields.children.end()) {
    for (std::string_view member :
         {"f:name", "f:namespace", "f:uid", "f:creationTimestamp", "f:selfLink", "f:resourceVersion",
          "f:generation", "f:managedFields", "f:clusterName", "f:deletionTimestamp",
          "f:deletionGracePeriodSeconds"})
      drop(metadata->second, member);
    metadata->second.self = false;
    if (metadata->second.empty()) fields.children.erase(metadata);
  }
  if (!kind.has_status) return;
  if (!writes_status(subresource)) {
    drop(fields, "f:status");
  } else if (kind.custom) {
    std::erase_if(fields.children, [](const auto& child) { return child.first != "f:status"; });
  } else {
    drop(fields, "f:spec");
    // Upstream's definitions forget who labels them there.
    if (kind.resource.group == "apiextensions.k8s.io") drop(fields, "f:metadata");
  }
}

void track_update(const Kind& kind, const json::Value* live, json::Value& object,
                  const FieldOwner& owner, WallTime now) {
  if (asks_for_reset(object)) {
    metadata_of(object).erase("managedFields");
    return;
  }
  if (!live) {
    FieldSet fields = created_fields(*kind.schema, object, kind.custom);
    strip_unowned(kind, owner.subresource, fields);
    std::vector<ManagedEntry> entries;
    if (!fields.empty()) entries.push_back({owner, model::format_rfc3339(now), std::move(fields)});
    return write_managed_fields(object, entries);
  }
  FieldComparison changes = compare_fields(*kind.schema, *live, object);
  for (FieldSet* set : {&changes.added, &changes.modified}) strip_unowned(kind, owner.subresource, *set);
  FieldSet touched = std::move(changes.added);
  touched.unite(changes.modified);
  std::vector<ManagedEntry> entries = managers_before(*live, object);

  ManagedEntry* own = nullptr;
  for (ManagedEntry& entry : entries) {
    entry.fields.subtract(changes.removed);
    if (entry.owner == owner)
      own = &entry;
    else
      entry.fields.subtract(touched);
  }
  if (!touched.empty()) {
    if (!own) own = &entries.emplace_back(ManagedEntry{owner, {}, {}});
    own->fields.unite(touched);
    // Values that changed count as news even when the set of fields is the same.
    own->time = model::format_rfc3339(now);
  }
  std::erase_if(entries, [](const ManagedEntry& entry) { return entry.fields.empty(); });
  cap_updates(entries);
  write_managed_fields(object, entries);
}

std::string manager_name(std::string_view field_manager, std::string_view user_agent) {
  if (!field_manager.empty()) return std::string(field_manager);
  std::string name;
  for (char c : user_agent.substr(0, user_agent.find('/')))
    if (c >= 0x20 && c < 0x7f && name.size() < 128) name += c;
  return name.empty() ? "unknown" : name;
}

}  // namespace hekla::apiserver
