#include "admission/resource_groups.h"

#include <algorithm>

#include "admission/text.h"
#include "json/parse.h"

namespace hekla::admission {
namespace {

constexpr std::string_view kGroupAnnotation = "volcano.sh/resource-group";

// "key: value", as YAML has it.
bool annotated(const json::Value& pod, std::string_view pair) {
  std::size_t colon = pair.find(':');
  if (colon == std::string_view::npos) return false;
  std::string_view key = trimmed(pair.substr(0, colon));
  std::string_view value = trimmed(pair.substr(colon + 1));
  const json::Object* annotations = json::object_at(pod, {"metadata", "annotations"});
  const json::Value* found = annotations ? json::find(*annotations, key) : nullptr;
  return found && found->is_string() && json::sv(found->get_string()) == value;
}

// Volcano writes affinity as JSON text.
Result<json::Value> parsed_affinity(const json::Value& group, const std::string& name) {
  const json::Value* affinity = json::find(group, "affinity");
  if (!affinity || affinity->is_null()) return json::Value();
  if (!affinity->is_string()) return *affinity;
  if (affinity->get_string().empty()) return json::Value();
  Result<json::Value> parsed = json::parse(json::sv(affinity->get_string()));
  if (!parsed)
    return fail(Code::bad_request,
                "affinity of resource group " + name + ": " + parsed.error().message);
  return parsed;
}

Result<ResourceGroup> parse_group(const json::Value& value) {
  ResourceGroup group;
  group.name = json::string_at(value, {"resourceGroup"});
  std::string_view key = json::string_at(value, {"object", "key"});
  if (!key.empty() && key != "namespace" && key != "annotation")
    return fail(Code::bad_request, "resource group " + group.name + ": object.key " +
                                       std::string(key) + " is neither namespace nor annotation");
  group.by_namespace = key == "namespace";
  if (const json::Array* values = json::array_at(value, {"object", "value"}))
    for (const json::Value& one : *values)
      if (one.is_string()) group.values.emplace_back(json::sv(one.get_string()));
  group.scheduler_name = json::string_at(value, {"schedulerName"});
  if (json::array_at(value, {"tolerations"})) group.tolerations = *json::find(value, "tolerations");
  if (json::object_at(value, {"labels"})) group.labels = *json::find(value, "labels");
  group.affinity = TRY(parsed_affinity(value, group.name));
  return group;
}

}  // namespace

bool ResourceGroup::holds(const json::Value& pod, std::string_view ns) const {
  if (by_namespace) return std::find(values.begin(), values.end(), ns) != values.end();
  if (values.empty()) return annotated(pod, std::string(kGroupAnnotation) + ": " + name);
  return std::any_of(values.begin(), values.end(),
                     [&](const std::string& pair) { return annotated(pod, pair); });
}

void ResourceGroup::apply_to(json::Value& pod) const {
  if (labels.is_object())
    for (const auto& label : labels.get_object())
      json::at_path(pod, {"spec", "nodeSelector", label.key()}) = label.value();
  if (affinity.is_object() && !json::object_at(pod, {"spec", "affinity"}))
    json::at_path(pod, {"spec", "affinity"}) = affinity;
  if (tolerations.is_array()) {
    json::Value& all = json::at_path(pod, {"spec", "tolerations"});
    if (!all.is_array()) all = json::Array();
    for (const json::Value& one : tolerations.get_array()) all.get_array().push_back(one);
  }
  if (!scheduler_name.empty()) json::at_path(pod, {"spec", "schedulerName"}) = scheduler_name;
}

Result<std::vector<ResourceGroup>> parse_resource_groups(std::string_view text) {
  std::vector<ResourceGroup> groups;
  for (const json::YamlDocument& document : TRY(json::parse_yaml(text))) {
    const json::Array* list = json::array_at(document.value, {"resourceGroups"});
    if (!list) continue;
    for (const json::Value& value : *list) groups.push_back(TRY(parse_group(value)));
  }
  return groups;
}

}  // namespace hekla::admission
