#include "apiserver/write/apply.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "apiserver/object/metadata.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/write/create.h"
#include "apiserver/write/field_set.h"
#include "apiserver/write/finish_update.h"
#include "apiserver/write/managed_fields.h"
#include "apiserver/write/match_request.h"
#include "apiserver/write/stages/decode.h"
#include "apiserver/write/stages/find.h"
#include "apiserver/write/stages/put.h"
#include "json/go_text.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

const Schema kAnything{};

const Schema& member_schema(const Schema& schema, std::string_view key) {
  auto found = schema.properties.find(key);
  if (found != schema.properties.end()) return *found->second;
  return schema.additional ? *schema.additional : kAnything;
}

bool is_keyed_list(const Schema& schema, const json::Value& value) {
  return value.is_array() && schema.list_type != Schema::ListType::atomic;
}

// The fields a configuration states.
FieldSet stated_fields(const Schema& schema, const json::Value& value) {
  FieldSet set;
  if (value.is_object() && !value.get_object().empty() && !schema.atomic_map) {
    for (const auto& member : value.get_object()) {
      FieldSet child = stated_fields(member_schema(schema, member.key()), member.value());
      // Keys of a map are members themselves; fields of a struct are only the way to theirs.
      if (!schema.properties.contains(member.key())) child.self = true;
      set.children.append("f:" + std::string(member.key()), std::move(child));
    }
    set.children.settle();
    return set;
  }
  if (is_keyed_list(schema, value) && !value.get_array().empty()) {
    const Schema& items = schema.items ? *schema.items : kAnything;
    for (const json::Value& item : value.get_array()) {
      FieldSet child = stated_fields(items, item);
      child.self = true;
      set.children.append(list_element(schema, item), std::move(child));
    }
    set.children.settle();
    return set;
  }
  set.self = true;
  return set;
}

// Items of a list that is a map or a set which are nothing, or stated twice under one key: nobody
// could say who owns which.
void append_unownable(const Schema& schema, const json::Value& value, const std::string& path,
                      std::vector<std::string>& out) {
  if (value.is_object() && !schema.atomic_map)
    for (const auto& member : value.get_object())
      append_unownable(member_schema(schema, member.key()), member.value(),
                       path + "." + std::string(member.key()), out);
  if (!is_keyed_list(schema, value)) return;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < value.get_array().size(); ++i) {
    const json::Value& item = value.get_array()[i];
    if (item.is_null()) {
      out.push_back(path + ": element " + std::to_string(i) + ": associative list with" +
                    (schema.list_type == Schema::ListType::map
                         ? " keys may not have a null element"
                         : "out keys has an element that's an explicit null"));
      continue;
    }
    const std::string element = list_element(schema, item), shown = printable(element);
    if (!seen.insert(element).second) out.push_back(path + ": duplicate entries for key " + shown);
    append_unownable(schema.items ? *schema.items : kAnything, item, path + shown, out);
  }
}

// A path with the numbers of items in lists, with their keys in place of the numbers.
std::string with_keys(const Schema& root, const json::Value& config, std::string_view path) {
  const Schema* schema = &root;
  const json::Value* value = &config;
  std::string out;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of(".[", 1), path.size());
    const std::string_view step = path.substr(0, end);
    path.remove_prefix(end);
    std::size_t index = 0;
    const bool item =
        step.starts_with('[') &&
        std::from_chars(step.data() + 1, step.data() + step.size(), index).ec == std::errc() &&
        value && value->is_array() && index < value->get_array().size();
    if (item) {
      const json::Value& inner = value->get_array()[index];
      out += is_keyed_list(*schema, *value) ? printable(list_element(*schema, inner))
                                            : std::string(step);
      schema = schema->items ? schema->items.get() : &kAnything;
      value = &inner;
    } else {
      out += step;
      const std::string_view name = step.substr(step.starts_with('.') ? 1 : 0);
      schema = &member_schema(*schema, name);
      value = value ? json::find(*value, name) : nullptr;
    }
  }
  return out;
}

// Lays `config` over `live`.
void merge_value(const Schema& schema, json::Value& live, const json::Value& config) {
  if (config.is_object() && live.is_object() && !schema.atomic_map) {
    for (const auto& member : config.get_object()) {
      json::Value* there = live.get_object().if_contains(member.key());
      if (there)
        merge_value(member_schema(schema, member.key()), *there, member.value());
      else
        live.get_object().emplace(member.key(), member.value());
    }
    return;
  }
  if (live.is_array() && is_keyed_list(schema, config)) {
    const Schema& items = schema.items ? *schema.items : kAnything;
    json::Array merged;
    std::vector<bool> used(live.get_array().size(), false);
    std::multimap<std::string, std::size_t> places;
    for (std::size_t i = 0; i < used.size(); ++i)
      places.emplace(list_element(schema, live.get_array()[i]), i);
    // Items of the configuration in its order, each where its neighbours in the live list allow;
    // the others keep theirs.
    for (const json::Value& item : config.get_array()) {
      json::Value next = item;
      const std::string element = list_element(schema, item);
      if (auto place = places.lower_bound(element);
          place != places.end() && place->first == element) {
        used[place->second] = true;
        next = std::move(live.get_array()[place->second]);
        merge_value(items, next, item);
        places.erase(place);
      }
      merged.push_back(std::move(next));
    }
    json::Array kept;
    for (std::size_t i = 0; i < used.size(); ++i)
      if (!used[i]) kept.push_back(std::move(live.get_array()[i]));
    for (json::Value& item : merged) kept.push_back(std::move(item));
    live = std::move(kept);
    return;
  }
  live = config;
}

// Takes the fields of `gone` out of `value`; true when the value itself is to go.
bool remove_fields(const Schema& schema, json::Value& value, const FieldSet& gone) {
  if (gone.self && gone.children.empty()) return true;
  if (value.is_object()) {
    for (const auto& [element, child] : gone.children) {
      if (!element.starts_with("f:")) continue;
      std::string_view key = std::string_view(element).substr(2);
      json::Value* member = value.get_object().if_contains(key);
      if (member && remove_fields(member_schema(schema, key), *member, child))
        value.get_object().erase(key);
    }
    return gone.self && value.get_object().empty();
  }
  if (value.is_array()) {
    const Schema& items = schema.items ? *schema.items : kAnything;
    json::Array kept;
    for (json::Value& item : value.get_array()) {
      auto found = gone.children.find(list_element(schema, item));
      if (found == gone.children.end()) {
        kept.push_back(std::move(item));
        continue;
      }
      // An item whose own membership is given up goes, with whatever nobody else holds in it.
      if (found->second.self || remove_fields(items, item, found->second)) continue;
      kept.push_back(std::move(item));
    }
    value = std::move(kept);
    return false;
  }
  return gone.self;
}

// A field that leads to one in `kept` stays, whoever gives it up: annotations are not gone while
// one of them is owned.
void keep_ways(const Schema& schema, const FieldSet& kept, FieldSet& given_up) {
  for (auto& [element, child] : given_up.children) {
    auto held = kept.children.find(element);
    if (held == kept.children.end()) continue;
    const bool field = element.starts_with("f:");
    const std::string_view key = std::string_view(element).substr(2);
    if (field && schema.properties.contains(key)) child.self = false;
    keep_ways(field          ? member_schema(schema, key)
              : schema.items ? *schema.items
                             : kAnything,
              held->second, child);
  }
}

struct Conflict {
  std::string who;  // `"a" using v1`
  std::vector<std::string> paths;
};

Error conflict_of(const std::vector<Conflict>& conflicts) {
  std::string text;
  Error error{Code::conflict, ""};
  std::vector<Cause>& causes = error.details.causes;
  for (const Conflict& one : conflicts) {
    text += (text.empty() ? "" : "\n") + ("conflicts with " + one.who + ":");
    for (const std::string& path : one.paths) {
      causes.push_back({"FieldManagerConflict", "conflict with " + one.who, path});
      text += "\n- " + path;
    }
  }
  error.message =
      causes.size() == 1
          ? "Apply failed with 1 conflict: " + causes.front().message + ": " + causes.front().field
          : "Apply failed with " + std::to_string(causes.size()) + " conflicts: " + text;
  return error;
}

std::string describe(const FieldOwner& owner, const kube::Resource& resource) {
  std::string text = "\"" + owner.manager + "\"";
  if (!owner.subresource.empty()) text += " with subresource \"" + owner.subresource + "\"";
  if (!owner.apply || owner.api_version != resource.api_version())
    text += " using " + owner.api_version;
  return text;
}

// Fields whose live value this apply would change although another owns them.
std::vector<Conflict> find_conflicts(const WriteScope& scope,
                                     const std::vector<ManagedEntry>& entries,
                                     const FieldOwner& owner, const FieldSet& touched) {
  std::vector<Conflict> conflicts;
  for (const ManagedEntry& entry : entries) {
    if (entry.owner == owner) continue;
    // A CRD of the platform yields to whoever installs another edition; what is served is both.
    if (scope.kind().traits.brings_kinds && entry.owner.manager == kBootstrapManager) continue;
    FieldSet both = entry.fields.intersect(touched);
    if (both.empty()) continue;
    Conflict conflict{describe(entry.owner, scope.resource()), {}};
    both.append_paths("", conflict.paths);
    conflicts.push_back(std::move(conflict));
  }
  return conflicts;
}

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::size_t kAnnotationBytes = 256 * 1024;

// Fields that kubectl applied from the client's side and that are still so: there it meets only
// itself. Others meet everyone.
FieldSet applied_by_client(const WriteScope& scope, const FieldOwner& owner,
                           const json::Value& live) {
  if (owner.manager != "kubectl") return {};
  Result<json::Value> applied =
      json::parse(json::string_at(live, {"metadata", "annotations", kLastApplied}));
  if (!applied || json::string_at(*applied, {"apiVersion"}) != scope.resource().api_version())
    return {};
  const Schema& schema = *scope.kind().schema;
  FieldSet fields = stated_fields(schema, *applied);
  const FieldComparison since = compare_fields(schema, *applied, live);
  for (const FieldSet* other : {&since.modified, &since.added, &since.removed})
    fields.subtract(*other);
  return fields;
}

// kubectl that goes back to applying from the client's side finds what it last applied.
void renew_last_applied(const WriteScope& scope, const FieldOwner& owner, json::Value& object) {
  if (owner.manager != "kubectl" || !owner.subresource.empty() ||
      json::string_at(object, {"metadata", "annotations", kLastApplied}).empty())
    return;
  json::Value applied = scope.request.body;
  if (json::object_at(applied, {"metadata", "annotations"}))
    json::at_path(applied, {"metadata", "annotations"}).get_object().erase(kLastApplied);
  json::Object& annotations = json::at_path(object, {"metadata", "annotations"}).get_object();
  annotations[kLastApplied] = json::go_text(applied) + "\n";
  std::size_t bytes = 0;
  for (const auto& one : annotations)
    bytes += one.key().size() + (one.value().is_string() ? one.value().get_string().size() : 0);
  if (bytes > kAnnotationBytes) annotations.erase(kLastApplied);
}

// Go's spelling of a group version: the core group is an empty name before the slash.
std::string group_version(std::string_view api_version) {
  return (api_version.find('/') == std::string_view::npos ? "/" : "") + std::string(api_version);
}

Result<json::Value> read_config(WriteScope& scope) {
  json::Value config = scope.request.body;
  std::string_view body_kind = json::string_at(config, {"kind"});
  std::string_view body_version = json::string_at(config, {"apiVersion"});
  if (body_kind != scope.resource().kind || body_version != scope.resource().api_version())
    return fail(Code::bad_request, "invalid object type: " + group_version(body_version) +
                                       ", Kind=" + std::string(body_kind));
  TRY(match_request(scope.kind(), scope.request.key, config));
  if (const json::Value* managed = json::find_path(config, {"metadata", "managedFields"});
      managed && !managed->is_null())
    return fail(Code::bad_request, "metadata.managedFields must be nil");
  const Kind& kind = scope.kind();
  if (!kind.schema) return config;
  std::vector<std::string> faults = unknown_fields(*kind.schema, config);
  for (std::string& path : faults)
    path = with_keys(*kind.schema, config, "." + path) + ": field not declared in schema";
  append_unownable(*kind.schema, config, "", faults);
  if (!faults.empty()) {
    std::string text = "failed to create typed patch object (" +
                       std::string(json::string_at(scope.request.body, {"metadata", "namespace"})) +
                       "/" + scope.request.key.name + "; " +
                       group_version(kind.resource.api_version()) + ", Kind=" + kind.resource.kind +
                       "): ";
    if (faults.size() > 1) text += "errors:\n";
    for (const std::string& fault : faults) text += faults.size() > 1 ? "  " + fault + "\n" : fault;
    return fail(Code::internal, text);
  }
  if (!kind.custom) {
    if (Result<void> typed = check_types(*kind.schema, config); !typed)
      return fail(Code::bad_request, kind.resource.kind + " in version \"" + kind.resource.version +
                                         "\" cannot be handled as a " + kind.resource.kind + ": " +
                                         typed.error().message);
    normalize(*kind.schema, config);
  }
  prune(*kind.schema, config);
  return config;
}

// Objects that nobody has tracked so far belong to an invented manager.
std::vector<ManagedEntry> managers_of(const WriteScope& scope, const json::Value& live) {
  std::vector<ManagedEntry> entries = read_managed_fields(live);
  if (!entries.empty()) return entries;
  ManagedEntry before;
  before.owner = {"before-first-apply", scope.resource().api_version(), "", false};
  before.fields =
      FieldSet::from_fields_v1(created_fields(*scope.kind().schema, live, scope.kind().custom, {}));
  before.time = model::format_rfc3339(scope.now);
  strip_unowned(scope.kind(), "", before.fields);
  if (!before.fields.empty()) entries.push_back(std::move(before));
  return entries;
}

}  // namespace

Result<PreparedWrite> prepare_apply(WriteScope& scope) {
  const Kind& kind = scope.kind();
  json::Value config = TRY(read_config(scope));
  store::ItemPtr item = scope.snapshot.get(scope.served().bucket, request_key(scope));
  if (!item) {
    if (!scope.request.subresource.empty())
      return std::unexpected(not_found_error(kind.resource, scope.request.key.name));
    FieldSet stated;
    if (kind.schema) {
      stated = stated_fields(*kind.schema, config);
      strip_unowned(kind, "", stated);
    }
    return prepare_create(scope, std::move(config), kind.schema ? &stated : nullptr);
  }
  if (!kind.schema) return fail(Code::internal, "the kind has no schema to apply by");
  return apply_config(scope, std::move(config), std::move(item));
}

Result<PreparedWrite> apply_config(WriteScope& scope, json::Value config, store::ItemPtr item) {
  const Kind& kind = scope.kind();
  const json::Value old = TRY(stored_object(scope, *item));
  std::string_view revision = meta_string(config, "resourceVersion");
  if (!revision.empty() && revision != std::to_string(item->modified))
    return std::unexpected(modified_error(kind.resource, scope.request.key.name));
  const bool unconditional = revision.empty();

  const FieldOwner owner{scope.request.field_manager, kind.resource.api_version(),
                         scope.request.subresource, true};
  FieldSet stated = stated_fields(*kind.schema, config);
  strip_unowned(kind, scope.request.subresource, stated);
  std::vector<ManagedEntry> entries = managers_of(scope, old);
  auto own = std::find_if(entries.begin(), entries.end(),
                          [&](const ManagedEntry& entry) { return entry.owner == owner; });

  json::Value object = old;
  FieldSet given_up;
  if (own != entries.end()) {
    given_up = own->fields;
    FieldSet kept = stated;
    for (const ManagedEntry& entry : entries)
      if (!(entry.owner == owner)) kept.unite(entry.fields);
    given_up.subtract(kept);
    keep_ways(*kind.schema, kept, given_up);
    if (!given_up.empty()) remove_fields(*kind.schema, object, given_up);
  }
  json::Value merged_config = config;
  metadata_of(merged_config).erase("resourceVersion");
  merge_value(*kind.schema, object, merged_config);

  FieldComparison changes = compare_fields(*kind.schema, old, object);
  FieldSet touched = std::move(changes.added);
  touched.unite(changes.modified);
  touched = touched.intersect(stated);
  FieldSet contested = touched;
  contested.subtract(applied_by_client(scope, owner, old));
  std::vector<Conflict> conflicts = find_conflicts(scope, entries, owner, contested);
  if (!conflicts.empty() && !scope.request.force) return std::unexpected(conflict_of(conflicts));

  for (ManagedEntry& entry : entries) {
    if (entry.owner == owner) continue;
    entry.fields.subtract(touched);
    entry.fields.subtract(changes.removed);
  }
  const bool same_set = own != entries.end() && own->fields == stated;
  if (own == entries.end()) own = entries.insert(entries.begin(), ManagedEntry{owner, {}, {}});
  own->fields = std::move(stated);
  if (!same_set || !touched.empty() || !given_up.empty())
    own->time = model::format_rfc3339(scope.now);
  std::erase_if(entries, [](const ManagedEntry& entry) { return entry.fields.empty(); });
  renew_last_applied(scope, owner, object);
  TRY(decode_stage(scope, object, true));
  write_managed_fields(object, entries);

  UpdateInput input{std::move(object), old, item};
  input.retry_on_conflict = unconditional;
  input.decoded = true;
  input.fields_tracked = true;
  return finish_update(scope, std::move(input));
}

}  // namespace hekla::apiserver
