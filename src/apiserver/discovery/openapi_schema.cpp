#include "apiserver/discovery/openapi_schema.h"

#include <algorithm>
#include <map>

#include "apiserver/schema/facts.h"
#include "apiserver/schema/type_names.h"

namespace hekla::apiserver {
namespace {

using Type = Schema::Type;

constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";

// Descriptions of the metadata that people ask `kubectl explain` about; "" of everything else.
std::string_view metadata_text(std::string_view go_type, std::string_view member) {
  static const std::map<std::string_view, std::string_view> kTexts{
      {"annotations", "Annotations are notes of people and programs; nothing selects by them."},
      {"creationTimestamp",
       "CreationTimestamp is a timestamp of the server's clock: when the object was created."},
      {"deletionGracePeriodSeconds",
       "How long the object may take to end once its deletion was asked for."},
      {"deletionTimestamp",
       "When the object will be gone; set by the server when its deletion is asked for."},
      {"finalizers", "Who still has something to do before a deleted object may go."},
      {"generateName", "A prefix from which the server makes a unique name when none is given."},
      {"generation", "Counts the changes of what is wanted; set by the server."},
      {"labels", "Labels are keys and values by which objects are selected."},
      {"managedFields", "Which manager has set which fields; kept by the server."},
      {"name", "Unique among the objects of its kind in the namespace; never changes."},
      {"namespace", "The namespace the object lives in; empty for kinds of the whole cluster."},
      {"ownerReferences", "The objects this one depends on: it goes when all of them are gone."},
      {"resourceVersion",
       "Changes whenever the object does: to watch from, and to refuse stale updates."},
      {"selfLink", "Not used any more."},
      {"uid", "Unique in time and space; set by the server."}};
  if (go_type != "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta") return {};
  auto found = kTexts.find(member);
  return found == kTexts.end() ? std::string_view() : found->second;
}

// "batch.volcano.sh" becomes "sh.volcano.batch".
std::string reversed(std::string_view domain) {
  std::string out;
  while (!domain.empty()) {
    std::size_t dot = domain.rfind('.');
    std::size_t from = dot == std::string_view::npos ? 0 : dot + 1;
    out += (out.empty() ? "" : ".") + std::string(domain.substr(from));
    domain = domain.substr(0, from == 0 ? 0 : from - 1);
  }
  return out;
}

std::string definition_name(const Kind& kind) {
  if (!kind.custom) return kind.schema->go_type;
  return reversed(kind.resource.group) + "." + kind.resource.version + "." + kind.resource.kind;
}

template <class T>
void put(json::Object& out, std::string_view name, const std::optional<T>& value) {
  if (value) out.emplace(name, *value);
}

json::Value whole_if_possible(double number) {
  auto whole = static_cast<std::int64_t>(number);
  return static_cast<double>(whole) == number ? json::Value(whole) : json::Value(number);
}

json::Array strings(const std::vector<std::string>& texts) {
  json::Array out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

}  // namespace

json::Object group_version_kind(const kube::Resource& resource, const std::string& kind) {
  return {{"group", resource.group}, {"kind", kind}, {"version", resource.version}};
}

json::Object OpenApiSchemas::ref(std::string_view name) const {
  std::string prefix = version_ == OpenApiVersion::v3 ? "#/components/schemas/" : "#/definitions/";
  return {{"$ref", prefix + std::string(name)}};
}

json::Object OpenApiSchemas::named(std::string_view name, json::Object definition) {
  definitions_.try_emplace(std::string(name), std::move(definition));
  return ref(name);
}

json::Object OpenApiSchemas::reference(std::string_view go_type) {
  define(std::string(go_type), *builtin_type(go_type));
  return ref(go_type);
}

std::string OpenApiSchemas::add_sent(const kube::Resource& kind) {
  const std::string group =
      kind.group.empty() ? "core" : kind.group.substr(0, kind.group.find('.'));
  const std::string name = "io.k8s.api." + group + "." + kind.version + "." + kind.kind;
  const SchemaPtr schema = builtin_type(name);
  if (!schema) return {};
  define(name, *schema);
  definitions_[name].insert_or_assign("x-kubernetes-group-version-kind",
                                      json::Array{group_version_kind(kind, kind.kind)});
  return name;
}

void OpenApiSchemas::define(const std::string& name, const Schema& schema) {
  auto [at, fresh] = definitions_.try_emplace(name);
  if (!fresh) return;
  json::Object made = body(schema, true);  // may define others, which leaves `at` valid
  if (schema.atomic_map && !schema.properties.empty())
    made.emplace("x-kubernetes-map-type", "atomic");
  at->second = std::move(made);
}

// A member, an element or a map's value.
json::Object OpenApiSchemas::field(const Schema& schema, bool builtin, std::string_view text) {
  json::Object out;
  builtin = builtin || !schema.go_type.empty();
  if (!schema.go_type.empty()) {
    define(schema.go_type, *builtin_type(schema.go_type));
    out = ref(schema.go_type);
  } else if (builtin && schema.format == "quantity") {
    json::Object definition =
        version_ == OpenApiVersion::v3
            ? json::Object{{"oneOf", json::Array{json::Object{{"type", "string"}},
                                                 json::Object{{"type", "number"}}}}}
            : json::Object{{"type", "string"}};
    out = named("io.k8s.apimachinery.pkg.api.resource.Quantity", std::move(definition));
  } else if (builtin && schema.format == "date-time") {
    out = named(std::string(kMeta) + "Time", {{"type", "string"}, {"format", "date-time"}});
  } else if (builtin && schema.format == "micro-time") {
    out = named(std::string(kMeta) + "MicroTime", {{"type", "string"}, {"format", "date-time"}});
  } else if (builtin && schema.format == "go-duration") {
    out = named(std::string(kMeta) + "Duration", {{"type", "string"}});
  } else if (builtin && schema.type == Type::int_or_string) {
    json::Object definition =
        version_ == OpenApiVersion::v3
            ? json::Object{{"format", "int-or-string"},
                           {"oneOf", json::Array{json::Object{{"type", "integer"}},
                                                 json::Object{{"type", "string"}}}}}
            : json::Object{{"format", "int-or-string"}, {"type", "string"}};
    out = named("io.k8s.apimachinery.pkg.util.intstr.IntOrString", std::move(definition));
  } else {
    out = body(schema, builtin);
  }
  json::Object beside;
  if (!schema.description.empty()) text = schema.description;
  if (!text.empty()) beside.emplace("description", text);
  if (builtin && schema.default_value) beside.emplace("default", *schema.default_value);
  add_extensions(schema, builtin, beside);
  if (out.contains("$ref") && !beside.empty() && version_ == OpenApiVersion::v3)
    out = json::Object{{"allOf", json::Array{std::move(out)}}};  // v3 reads nothing beside a $ref
  for (auto& member : beside) out.insert_or_assign(member.key(), std::move(member.value()));
  return out;
}

json::Object OpenApiSchemas::body(const Schema& schema, bool builtin) {
  json::Object out;
  if (schema.type != Type::any && schema.type != Type::int_or_string)
    out.emplace("type", type_name(schema.type));
  if (!schema.format.empty()) out.emplace("format", schema.format);
  if (schema.items != nullptr) out.emplace("items", field(*schema.items, builtin));
  if (schema.additional != nullptr)
    out.emplace("additionalProperties", field(*schema.additional, builtin));
  if (!schema.properties.empty()) {
    json::Object properties;
    for (const auto& [name, member] : schema.properties)
      properties.emplace(name, field(*member, builtin, metadata_text(schema.go_type, name)));
    out.emplace("properties", std::move(properties));
  }
  if (!schema.required.empty()) out.emplace("required", strings(schema.required));
  if (!schema.enumeration.empty()) {
    json::Array values(schema.enumeration.begin(), schema.enumeration.end());
    if (builtin)  // upstream generates them sorted
      std::sort(values.begin(), values.end(), [](const json::Value& a, const json::Value& b) {
        return json::sv(a.get_string()) < json::sv(b.get_string());
      });
    out.emplace("enum", std::move(values));
  }
  if (!builtin) add_validation(schema, out);
  return out;
}

void OpenApiSchemas::add_validation(const Schema& schema, json::Object& out) {
  if (schema.default_value) out.emplace("default", *schema.default_value);
  if (!schema.pattern.empty()) out.emplace("pattern", schema.pattern);
  if (schema.minimum) out.emplace("minimum", whole_if_possible(*schema.minimum));
  if (schema.maximum) out.emplace("maximum", whole_if_possible(*schema.maximum));
  if (schema.exclusive_minimum) out.emplace("exclusiveMinimum", true);
  if (schema.exclusive_maximum) out.emplace("exclusiveMaximum", true);
  if (schema.multiple_of) out.emplace("multipleOf", whole_if_possible(*schema.multiple_of));
  put(out, "minLength", schema.min_length);
  put(out, "maxLength", schema.max_length);
  put(out, "minItems", schema.min_items);
  put(out, "maxItems", schema.max_items);
  put(out, "minProperties", schema.min_properties);
  put(out, "maxProperties", schema.max_properties);
  if (version_ == OpenApiVersion::v2) return;  // v2 has no words for the rest
  if (schema.nullable) out.emplace("nullable", true);
  const auto junctor = [&](std::string_view name, const std::vector<SchemaPtr>& schemas) {
    if (schemas.empty()) return;
    json::Array list;
    for (const SchemaPtr& one : schemas) list.push_back(body(*one, false));
    out.emplace(name, std::move(list));
  };
  junctor("allOf", schema.all_of);
  junctor("anyOf", schema.any_of);
  junctor("oneOf", schema.one_of);
  if (schema.negation != nullptr) out.emplace("not", body(*schema.negation, false));
}

void OpenApiSchemas::add_extensions(const Schema& schema, bool builtin, json::Object& out) const {
  using ListType = Schema::ListType;
  if (schema.type == Type::array && (builtin || schema.list_type != ListType::atomic))
    out.emplace("x-kubernetes-list-type", schema.list_type == ListType::map   ? "map"
                                          : schema.list_type == ListType::set ? "set"
                                                                              : "atomic");
  if (!schema.list_map_keys.empty())
    out.emplace("x-kubernetes-list-map-keys", strings(schema.list_map_keys));
  if (schema.atomic_map && schema.go_type.empty()) out.emplace("x-kubernetes-map-type", "atomic");
  if (!schema.patch_strategy.empty())
    out.emplace("x-kubernetes-patch-strategy", schema.patch_strategy);
  if (!schema.patch_merge_key.empty())
    out.emplace("x-kubernetes-patch-merge-key", schema.patch_merge_key);
  if (builtin) return;
  if (schema.type == Type::int_or_string) out.emplace("x-kubernetes-int-or-string", true);
  if (schema.preserve_unknown) out.emplace("x-kubernetes-preserve-unknown-fields", true);
  if (schema.embedded_resource) out.emplace("x-kubernetes-embedded-resource", true);
  if (schema.validations.is_array()) out.emplace("x-kubernetes-validations", schema.validations);
}

std::string OpenApiSchemas::list_name(const Kind& kind) const {
  std::string name = definition_name(kind);
  return name.substr(0, name.size() - kind.resource.kind.size()) + kind.list_kind;
}

std::string OpenApiSchemas::add_kind(const Kind& kind) {
  std::string name = definition_name(kind);
  if (kind.custom && version_ == OpenApiVersion::v2 && kind.schema->preserve_unknown) {
    // kubectl takes the absence of properties, and only that, as leave to write anything.
    definitions_.insert_or_assign(name, json::Object{{"type", "object"}});
  } else if (kind.custom) {
    json::Object made = body(*kind.schema, false);
    if (!kind.schema->description.empty()) made.emplace("description", kind.schema->description);
    if (kind.schema->preserve_unknown) made.emplace("x-kubernetes-preserve-unknown-fields", true);
    if (kind.schema->validations.is_array())
      made.emplace("x-kubernetes-validations", kind.schema->validations);
    definitions_.insert_or_assign(name, std::move(made));
  } else {
    define(name, *kind.schema);
  }
  definitions_[name].insert_or_assign(
      "x-kubernetes-group-version-kind",
      json::Array{group_version_kind(kind.resource, kind.resource.kind)});
  if (kind.list_kind.empty()) return name;  // there is none
  json::Object list{
      {"type", "object"},
      {"required", json::Array{"items"}},
      {"properties",
       json::Object{{"apiVersion", json::Object{{"type", "string"}}},
                    {"kind", json::Object{{"type", "string"}}},
                    {"metadata", reference(std::string(kMeta) + "ListMeta")},
                    {"items", json::Object{{"type", "array"}, {"items", ref(name)}}}}},
      {"x-kubernetes-group-version-kind",
       json::Array{group_version_kind(kind.resource, kind.list_kind)}}};
  definitions_.insert_or_assign(list_name(kind), std::move(list));
  return name;
}

json::Object OpenApiSchemas::take_definitions() {
  json::Object out;
  for (auto& [name, definition] : definitions_) out.emplace(name, std::move(definition));
  definitions_.clear();
  return out;
}

}  // namespace hekla::apiserver
