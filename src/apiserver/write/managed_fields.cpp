#include "apiserver/write/managed_fields.h"

#include <algorithm>
#include <array>

#include "apiserver/object/metadata.h"
#include "apiserver/object/subresources.h"
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
  std::stable_sort(entries.begin(), entries.end(),
                   [](const ManagedEntry& a, const ManagedEntry& b) { return a.time < b.time; });
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

// `[]` or `[{}]` is how a client asks for ownership to be forgotten.
bool asks_for_reset(const json::Value& object) {
  const json::Array* given = json::array_at(object, {"metadata", "managedFields"});
  if (!given || given->size() > 1) return false;
  return given->empty() || (given->front().is_object() && given->front().get_object().empty());
}

bool is_fields_v1(const json::Value& fields) {
  const json::Object* object = fields.if_object();
  return object && std::all_of(object->begin(), object->end(), [](const auto& member) {
           const std::string_view key = member.key();
           return (key == "." || (key.size() > 1 && key[1] == ':' &&
                                  std::string_view("fkvi").contains(key[0]))) &&
                  is_fields_v1(member.value());
         });
}

// Whether a client that writes ownership itself has written something that can be read.
bool is_readable(const json::Array& managed) {
  return std::all_of(managed.begin(), managed.end(), [](const json::Value& one) {
    const std::string_view operation = json::string_at(one, {"operation"});
    const json::Value* fields = json::find(one, "fieldsV1");
    return (operation == "Apply" || operation == "Update") &&
           json::string_at(one, {"fieldsType"}) == "FieldsV1" && (!fields || is_fields_v1(*fields));
  });
}

ManagedEntry read_owner(const json::Value& one) {
  ManagedEntry entry;
  entry.owner.manager = json::string_at(one, {"manager"});
  entry.owner.api_version = json::string_at(one, {"apiVersion"});
  entry.owner.subresource = json::string_at(one, {"subresource"});
  entry.owner.apply = json::string_at(one, {"operation"}) == "Apply";
  entry.time = json::string_at(one, {"time"});
  return entry;
}

// Whether taking `set` out of what FieldsV1 says would change it.
bool meets(const json::Value& fields, const FieldSet& set) {
  const json::Object* object = fields.if_object();
  if (!object) return false;
  if (set.self && (object->empty() || object->contains("."))) return true;
  return std::any_of(set.children.begin(), set.children.end(), [&](const auto& step) {
    const json::Value* inner = json::find(*object, step.first);
    return inner && meets(*inner, step.second);
  });
}

// The managers before an update, which `managed`, taken out of the object, names. Those it does not
// touch are most of the text and stay as they are.
std::vector<ManagedEntry> managers_before(json::Value& managed, const FieldOwner& owner,
                                          const FieldSet& removed, const FieldSet& touched) {
  std::vector<ManagedEntry> entries;
  const bool full = managed.get_array().size() >= kMaxUpdateManagers;
  for (json::Value& one : managed.get_array()) {
    ManagedEntry entry = read_owner(one);
    const json::Value* fields = json::find(one, "fieldsV1");
    const bool apart = fields && !full && entry.owner != owner && !meets(*fields, removed) &&
                       !meets(*fields, touched);
    if (apart)
      entry.unread = &one;
    else if (fields)
      entry.fields = FieldSet::from_fields_v1(*fields);
    if (entry.unread || !entry.fields.empty()) entries.push_back(std::move(entry));
  }
  return entries;
}

void drop(FieldSet& set, std::string_view element) { set.children.erase(element); }

// Members of metadata that nobody owns.
constexpr std::array<std::string_view, 11> kUnowned{"f:name",
                                                    "f:namespace",
                                                    "f:uid",
                                                    "f:creationTimestamp",
                                                    "f:selfLink",
                                                    "f:resourceVersion",
                                                    "f:generation",
                                                    "f:managedFields",
                                                    "f:clusterName",
                                                    "f:deletionTimestamp",
                                                    "f:deletionGracePeriodSeconds"};

// As strip_unowned(), from the FieldsV1 of a new object, which is never made through its status.
void strip_unowned(const Kind& kind, json::Object& fields) {
  auto drop_from = [](json::Object& object, std::string_view element) {
    if (auto at = object.find(element); at != object.end()) object.stable_erase(at);
  };
  for (std::string_view element : {".", "f:apiVersion", "f:kind"}) drop_from(fields, element);
  if (kind.traits.has_status) drop_from(fields, "f:status");
  json::Value* metadata = fields.if_contains("f:metadata");
  if (!metadata) return;
  for (std::string_view element : kUnowned) drop_from(metadata->get_object(), element);
  drop_from(metadata->get_object(), ".");
  if (metadata->get_object().empty()) drop_from(fields, "f:metadata");
}

json::Object written_entry(const FieldOwner& owner, std::string_view time, json::Value fields,
                           const json::Storage& storage) {
  json::Object one(storage);
  one.reserve(7);
  one.emplace("apiVersion", owner.api_version);
  one.emplace("fieldsType", "FieldsV1");
  one.emplace("fieldsV1", std::move(fields));
  one.emplace("manager", owner.manager);
  one.emplace("operation", owner.apply ? "Apply" : "Update");
  if (!owner.subresource.empty()) one.emplace("subresource", owner.subresource);
  if (!time.empty()) one.emplace("time", time);
  return one;
}

// A new object has one manager, or none.
void track_creation(const Kind& kind, json::Value& object, const FieldOwner& owner, WallTime now) {
  json::Object& metadata = metadata_of(object);
  const json::Storage& storage = metadata.storage();
  json::Value fields = created_fields(*kind.schema, object, kind.custom, storage);
  strip_unowned(kind, fields.get_object());
  if (fields.get_object().empty()) {
    metadata.erase("managedFields");
    return;
  }
  json::Array all(storage);
  all.push_back(written_entry(owner, model::format_rfc3339(now), std::move(fields), storage));
  metadata["managedFields"] = std::move(all);
}

}  // namespace

std::vector<ManagedEntry> read_managed_fields(const json::Value& object) {
  std::vector<ManagedEntry> entries;
  const json::Array* all = json::array_at(object, {"metadata", "managedFields"});
  if (!all) return entries;
  for (const json::Value& one : *all) {
    ManagedEntry entry = read_owner(one);
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
    if (entry.unread) {
      all.push_back(std::move(*entry.unread));
      continue;
    }
    all.push_back(
        written_entry(entry.owner, entry.time, entry.fields.to_fields_v1(storage), storage));
  }
  metadata["managedFields"] = std::move(all);
}

void strip_unowned(const Kind& kind, std::string_view subresource, FieldSet& fields) {
  drop(fields, "f:apiVersion");
  drop(fields, "f:kind");
  fields.self = false;
  if (auto metadata = fields.children.find("f:metadata"); metadata != fields.children.end()) {
    for (std::string_view member : kUnowned) drop(metadata->second, member);
    metadata->second.self = false;
    if (metadata->second.empty()) fields.children.erase(metadata);
  }
  if (!kind.traits.has_status) return;
  if (!writes_status(subresource)) {
    drop(fields, "f:status");
  } else if (kind.custom) {
    fields.children.erase_if([](const auto& child) { return child.first != "f:status"; });
  } else {
    drop(fields, "f:spec");
    // Upstream's definitions forget who labels them there.
    if (kind.resource.group == "apiextensions.k8s.io") drop(fields, "f:metadata");
  }
}

void track_update(const Kind& kind, const json::Value* live, json::Value& object,
                  const FieldOwner& owner, WallTime now) {
  if (owner.subresource.empty() && asks_for_reset(object)) {
    metadata_of(object).erase("managedFields");
    return;
  }
  if (!live) return track_creation(kind, object, owner, now);
  FieldComparison changes = compare_fields(*kind.schema, *live, object);
  for (FieldSet* set : {&changes.added, &changes.modified})
    strip_unowned(kind, owner.subresource, *set);
  FieldSet touched = std::move(changes.added);
  touched.unite(changes.modified);
  json::Value managed(object.storage());
  std::vector<ManagedEntry> entries;
  const json::Value* stored = json::find_path(*live, {"metadata", "managedFields"});
  json::Value* given = metadata_of(object).if_contains("managedFields");
  if (stored && given && given->is_array() && json::equal(*given, *stored)) {
    managed = std::move(*given);
    entries = managers_before(managed, owner, changes.removed, touched);
  } else {
    const bool own_words =
        owner.subresource.empty() && given && given->is_array() && is_readable(given->get_array());
    entries = read_managed_fields(own_words ? object : *live);
  }
  if (entries.empty()) {  // whose ownership was forgotten stays so until somebody applies it
    metadata_of(object).erase("managedFields");
    return;
  }

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
  std::erase_if(entries,
                [](const ManagedEntry& entry) { return !entry.unread && entry.fields.empty(); });
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
