// v1 Node.
#include <set>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules/rules.h"
#include "apiserver/text/field_error.h"
#include "model/names.h"

namespace hekla::apiserver {
namespace {

std::string node_status(const json::Value& node) {
  std::string status = "Unknown";
  if (const json::Array* conditions = json::array_at(node, {"status", "conditions"}))
    for (const json::Value& condition : *conditions)
      if (json::string_at(condition, {"type"}) == "Ready")
        status = json::string_at(condition, {"status"}) == "True" ? "Ready" : "NotReady";
  if (json::bool_at(node, {"spec", "unschedulable"})) status += ",SchedulingDisabled";
  return status;
}

std::string node_roles(const json::Value& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  if (const json::Object* labels = json::object_at(node, {"metadata", "labels"}))
    for (const auto& label : *labels) {
      std::string_view key = label.key();
      if (key.starts_with(kPrefix) && key.size() > kPrefix.size())
        roles.emplace(key.substr(kPrefix.size()));
      else if (key == "kubernetes.io/role" && label.value().is_string() &&
               !label.value().get_string().empty())
        roles.emplace(json::sv(label.value().get_string()));
    }
  return roles.empty() ? "<none>" : join({roles.begin(), roles.end()}, ",");
}

std::string node_address(const json::Value& node, std::string_view type) {
  if (const json::Array* addresses = json::array_at(node, {"status", "addresses"}))
    for (const json::Value& one : *addresses)
      if (json::string_at(one, {"type"}) == type)
        return std::string(json::string_at(one, {"address"}));
  return "<none>";
}

std::vector<Cause> validate_node(const json::Value& object) {
  Rules rules;
  Field taints = Field(object, "")["spec"]["taints"];
  std::set<std::string> seen;
  for (std::size_t i = 0; i < taints.items().size(); ++i) {
    Field taint = taints.at(i);
    rules.qualified_name(taint["key"]);
    for (const std::string& why : model::label_value_errors(taint["value"].text()))
      rules.invalid(taint["value"], why);
    rules.one_of(taint["effect"], {"NoSchedule", "PreferNoSchedule", "NoExecute"}, true);
    std::string key = std::string(taint["key"].text()) + "/" + std::string(taint["effect"].text());
    if (!seen.insert(key).second)
      rules.causes.push_back(duplicate_value(taint.path(), taint.value()));
  }
  return std::move(rules.causes);
}

// Addresses of pods and the provider's name for the machine are given once.
std::vector<Cause> validate_changed_node(const json::Value& object, const json::Value& old) {
  Rules rules;
  Field now = Field(object, "")["spec"], before = Field(old, "")["spec"];
  if (!before["podCIDRs"].items().empty() && !same(now["podCIDRs"], before["podCIDRs"]))
    rules.forbidden(now["podCIDRs"],
                    "node updates may not change podCIDR except from \"\" to valid");
  if (!before["providerID"].text().empty() && !same(now["providerID"], before["providerID"]))
    rules.forbidden(now["providerID"],
                    "node updates may not change providerID except from \"\" to valid");
  return std::move(rules.causes);
}

void add_core_node_kinds(Kinds& kinds) {
  Kind node = cluster_kind("", "v1", "nodes", "Node", kCorePackage);
  node.short_names = {"no"};
  node.traits.has_status = true;
  node.traits.status_from_start = true;  // it registers itself together with its status
  node.subresources = {proxy_subresource("NodeProxyOptions")};
  node.printing.columns =
      columns({"Status", "Roles", "Age", "Version", "Internal-IP*", "External-IP*", "OS-Image*",
               "Kernel-Version*", "Container-Runtime*"});
  node.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(node_status(object)),
            json::Value(node_roles(object)),
            json::Value(age(object, now)),
            json::Value(json::string_at(object, {"status", "nodeInfo", "kubeletVersion"})),
            json::Value(node_address(object, "InternalIP")),
            json::Value(node_address(object, "ExternalIP")),
            json::Value(text_or(object, {"status", "nodeInfo", "osImage"}, "<unknown>")),
            json::Value(text_or(object, {"status", "nodeInfo", "kernelVersion"}, "<unknown>")),
            json::Value(
                text_or(object, {"status", "nodeInfo", "containerRuntimeVersion"}, "<unknown>"))};
  };
  node.selectable = {{"spec.unschedulable", [](const json::Node& one) {
                        return json::bool_at(one, {"spec", "unschedulable"}) ? std::string("true")
                                                                             : std::string("false");
                      }}};
  node.rules.set_defaults = [](json::Value& object) {
    // Allocatable is the capacity, until somebody says less.
    const json::Value* capacity = json::find_path(object, {"status", "capacity"});
    if (capacity != nullptr && json::find_path(object, {"status", "allocatable"}) == nullptr) {
      json::Value copy = *capacity;
      json::at_path(object, {"status", "allocatable"}) = std::move(copy);
    }
  };
  node.rules.validate = validate_node;
  node.rules.validate_update = validate_changed_node;
  add(kinds, std::move(node));
}

}  // namespace

extern const KindGroup kinds_core_node;
const KindGroup kinds_core_node{add_core_node_kinds};

}  // namespace hekla::apiserver
