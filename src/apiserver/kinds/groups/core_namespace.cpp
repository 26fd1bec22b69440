// v1 Namespace, ResourceQuota, LimitRange.
#include <algorithm>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/quota_rules.h"
#include "apiserver/kinds/rules/rules.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";

void label_namespace(json::Value& object) {
  std::string name(json::string_at(object, {"metadata", "name"}));
  if (!name.empty()) json::at_path(object, {"metadata", "labels", kNameLabel}) = name;
}

// /finalize replaces spec.finalizers and nothing else.
json::Value replace_finalizers(const json::Value& sent, const json::Value& old) {
  json::Value changed = old;
  const json::Value* finalizers = json::find_path(sent, {"spec", "finalizers"});
  if (finalizers && finalizers->is_array() && !finalizers->get_array().empty())
    json::at_path(changed, {"spec", "finalizers"}) = *finalizers;
  else if (json::Value* spec = changed.get_object().if_contains("spec"); spec && spec->is_object())
    spec->get_object().erase("finalizers");
  return changed;
}

// A namespace stays until its content is gone: the controller empties spec.finalizers.
bool begin_namespace_removal(json::Value& object, WallTime) {
  const json::Array* finalizers = json::array_at(object, {"spec", "finalizers"});
  if (!finalizers || finalizers->empty()) return false;
  json::at_path(object, {"status", "phase"}) = "Terminating";
  return true;
}

Kind namespace_kind() {
  Kind kind = cluster_kind("", "v1", "namespaces", "Namespace", kCorePackage);
  kind.short_names = {"ns"};
  kind.verbs = {"create", "delete", "get", "list", "patch", "update", "watch"};
  kind.traits.has_status = true;
  kind.traits.staged_delete = true;
  kind.traits.holds_objects = true;
  kind.subresources = {{.name = "finalize",
                        .group = "",
                        .version = "v1",
                        .kind = "Namespace",
                        .verbs = {"update"},
                        .replace = replace_finalizers}};
  kind.rules.begin_removal = begin_namespace_removal;
  kind.traits.name_rule = NameRule::label;
  kind.printing.columns = columns({"Status", "Age"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(json::string_at(object, {"status", "phase"})),
            json::Value(age(object, now))};
  };
  kind.selectable = {{"status.phase", field_at({"status", "phase"})},
                     {"name", field_at({"metadata", "name"})}};
  kind.rules.set_defaults = label_namespace;
  kind.rules.prepare_create = [](json::Value& object, const WriteContext&) {
    label_namespace(object);  // a generated name is known only now
    json::at_path(object, {"status", "phase"}) = "Active";
    json::Value& finalizers = json::at_path(object, {"spec", "finalizers"});
    if (!finalizers.is_array()) finalizers = json::Array();
    json::Value own("kubernetes");
    json::Array& list = finalizers.get_array();
    if (std::find(list.begin(), list.end(), own) == list.end()) list.push_back(std::move(own));
  };
  kind.rules.prepare_update = [](json::Value& object, const json::Value& old,
                                 const WriteContext& context) {
    if (context.subresource == "finalize") return;
    // Only /finalize changes the content finalizers.
    if (const json::Value* before = json::find_path(old, {"spec", "finalizers"}))
      json::at_path(object, {"spec", "finalizers"}) = *before;
  };
  return kind;
}

std::string quota_cell(const json::Value& quota, bool limits) {
  std::vector<std::string> names, parts;
  if (const json::Object* hard = json::object_at(quota, {"status", "hard"}))
    for (const auto& entry : *hard) names.emplace_back(entry.key());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (name.starts_with("limits.") != limits) continue;
    const json::Value* used = json::find_path(quota, {"status", "used", name});
    const json::Value* hard = json::find_path(quota, {"status", "hard", name});
    parts.push_back(name + ": " + (used == nullptr ? "0" : scalar_text(*used)) + "/" +
                    scalar_text(*hard));
  }
  return join(parts, ", ");
}

Kind quota_kind() {
  Kind kind = builtin_kind("", "v1", "resourcequotas", "ResourceQuota", kCorePackage);
  kind.short_names = {"quota"};
  kind.traits.returns_deleted = true;
  kind.traits.has_status = true;
  kind.printing.columns = columns({"Request", "Limit", "Age"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(quota_cell(object, false)), json::Value(quota_cell(object, true)),
            json::Value(age(object, now))};
  };
  kind.rules.validate = validate_quota;
  kind.rules.validate_update = [](const json::Value& object, const json::Value& old) {
    Rules rules;
    rules.immutable(Field(object, "")["spec"]["scopes"], Field(old, "")["spec"]["scopes"]);
    return std::move(rules.causes);
  };
  return kind;
}

void copy_missing(json::Object& to, const json::Value* from) {
  if (from == nullptr || !from->is_object()) return;
  for (const auto& entry : from->get_object())
    if (!to.contains(entry.key())) to.emplace(entry.key(), entry.value());
}

// default from max, defaultRequest from default and then min.
void default_limits(json::Value& object) {
  json::Value* spec = object.get_object().if_contains("spec");
  if (spec == nullptr || !spec->is_object()) return;
  for (json::Value& item : list_in(spec->get_object(), "limits")) {
    if (!item.is_object() || json::string_at(item, {"type"}) != "Container") continue;
    json::Object limits, requests;
    copy_missing(limits, json::find(item, "default"));
    copy_missing(limits, json::find(item, "max"));
    copy_missing(requests, json::find(item, "defaultRequest"));
    if (!limits.empty()) item.get_object()["default"] = std::move(limits);
    copy_missing(requests, json::find(item, "default"));
    copy_missing(requests, json::find(item, "min"));
    if (!requests.empty()) item.get_object()["defaultRequest"] = std::move(requests);
  }
}

void add_core_namespace_kinds(Kinds& kinds) {
  add(kinds, namespace_kind());
  add(kinds, quota_kind());
  Kind limits = builtin_kind("", "v1", "limitranges", "LimitRange", kCorePackage);
  limits.short_names = {"limits"};
  limits.traits.create_on_update = true;
  limits.rules.prepare_create = [](json::Value& object, const WriteContext& context) {
    json::Value& name = json::at_path(object, {"metadata", "name"});
    if (!name.is_string() || name.get_string().empty()) name = uuid(*context.rng);
  };
  limits.rules.set_defaults = default_limits;
  limits.rules.validate = validate_limits;
  add(kinds, std::move(limits));
}

}  // namespace

extern const KindGroup kinds_core_namespace;
const KindGroup kinds_core_namespace{add_core_namespace_kinds};

}  // namespace hekla::apiserver
