// v1 Service. Addresses and node ports are allocated by the write pipeline; here is what a service
// means without them, and None stays None.
#include <set>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/rules.h"
#include "apiserver/kinds/rules/service_rules.h"

namespace hekla::apiserver {
namespace {

std::string external_ip(const json::Value& service) {
  std::string_view type = json::string_at(service, {"spec", "type"});
  if (type == "ExternalName")
    return std::string(json::string_at(service, {"spec", "externalName"}));
  std::set<std::string> balancer;
  if (const json::Array* ingress = json::array_at(service, {"status", "loadBalancer", "ingress"}))
    for (const json::Value& one : *ingress) {
      std::string address = text_or(one, {"ip"}, json::string_at(one, {"hostname"}));
      if (!address.empty()) balancer.insert(address);
    }
  std::vector<std::string> all;
  if (type == "LoadBalancer") all.assign(balancer.begin(), balancer.end());
  if (const json::Array* given = json::array_at(service, {"spec", "externalIPs"}))
    for (const json::Value& one : *given) all.push_back(scalar_text(one));
  if (!all.empty()) return join(all, ",");
  return type == "LoadBalancer" ? "<pending>" : "<none>";
}

std::string ports_cell(const json::Value& service) {
  std::vector<std::string> all;
  if (const json::Array* ports = json::array_at(service, {"spec", "ports"}))
    for (const json::Value& port : *ports) {
      std::string text = std::to_string(json::int_at(port, {"port"}));
      if (std::int64_t node = json::int_at(port, {"nodePort"}); node > 0)
        text += ":" + std::to_string(node);
      all.push_back(text + "/" + std::string(json::string_at(port, {"protocol"})));
    }
  return all.empty() ? "<none>" : join(all, ",");
}

std::string cluster_ip(const json::Value& service) {
  const json::Array* addresses = json::array_at(service, {"spec", "clusterIPs"});
  if (addresses != nullptr && !addresses->empty()) return scalar_text((*addresses)[0]);
  return text_or(service, {"spec", "clusterIP"}, "<none>");
}

void default_service(json::Value& object) {
  json::Object& spec = object_in_place(object.get_object(), "spec");
  const json::Value& value = object.get_object().at("spec");
  set_default(spec, "sessionAffinity", "None");
  if (json::string_at(value, {"sessionAffinity"}) == "ClientIP" &&
      !json::find_path(value, {"sessionAffinityConfig", "clientIP", "timeoutSeconds"}))
    json::at_path(object, {"spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"}) = 10800;
  if (json::string_at(value, {"sessionAffinity"}) == "None") spec.erase("sessionAffinityConfig");
  set_default(spec, "type", "ClusterIP");
  for (json::Value& port : list_in(spec, "ports")) {
    if (!port.is_object()) continue;
    set_default(port.get_object(), "protocol", "TCP");
    const json::Value* target = json::find(port, "targetPort");
    bool unset = target == nullptr || target->is_null() || scalar_text(*target).empty() ||
                 scalar_text(*target) == "0";
    if (unset) port.get_object()["targetPort"] = json::int_at(port, {"port"});
  }
  const std::string type(json::string_at(value, {"type"}));  // what follows moves the members
  if (is_externally_accessible(value)) set_default(spec, "externalTrafficPolicy", "Cluster");
  if (type != "ExternalName") set_default(spec, "internalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") set_default(spec, "allocateLoadBalancerNodePorts", true);
  // clusterIP and clusterIPs say the same; clients of either age read theirs.
  std::string primary(json::string_at(value, {"clusterIP"}));
  const json::Array* list = json::array_at(value, {"clusterIPs"});
  if (!primary.empty() && (list == nullptr || list->empty()))
    spec["clusterIPs"] = json::Array{json::Value(primary)};
  else if (primary.empty() && list != nullptr && !list->empty()) {
    json::Value first = (*list)[0];
    spec["clusterIP"] = std::move(first);
  }
}

bool needs_node_ports(const json::Value& service) {
  std::string_view type = json::string_at(service, {"spec", "type"});
  return type == "NodePort" || type == "LoadBalancer";
}

// A change of type drops node ports that were allocated for the old one.
void drop_node_ports(json::Value& object, const json::Value& old) {
  if (!needs_node_ports(old) || needs_node_ports(object)) return;
  const json::Array* before = json::array_at(old, {"spec", "ports"});
  json::Value* ports = object_in_place(object.get_object(), "spec").if_contains("ports");
  if (!before || !ports || !ports->is_array()) return;
  std::set<std::int64_t> allocated;
  for (const json::Value& one : *before) allocated.insert(json::int_at(one, {"nodePort"}));
  for (json::Value& port : ports->get_array())
    if (port.is_object() && allocated.contains(json::int_at(port, {"nodePort"})))
      port.get_object().erase("nodePort");
}

// Nor what else only the old type may say, when it says the same of it.
void drop_dependent(json::Value& object, const json::Value& old) {
  const json::Value* before = json::find(old, "spec");
  json::Object& spec = object_in_place(object.get_object(), "spec");
  const auto drop = [&](std::string_view member) {
    const json::Value *was = before ? json::find(*before, member) : nullptr,
                      *is = spec.if_contains(member);
    if (was && is && json::equal(*was, *is)) spec.erase(member);
  };
  if (!before) return;
  if (json::string_at(*before, {"type"}) == "LoadBalancer" &&
      json::string_at(object, {"spec", "type"}) != "LoadBalancer")
    for (std::string_view member : {"allocateLoadBalancerNodePorts", "loadBalancerClass"})
      drop(member);
  if (is_externally_accessible(*before) &&
      !is_externally_accessible(object.get_object().at("spec")))
    drop("externalTrafficPolicy");
  if (needs_health_check(*before) && !needs_health_check(object.get_object().at("spec")))
    drop("healthCheckNodePort");
}

// A client that PUTs what it wrote, not what it read, keeps what was allocated.
void keep_allocated(json::Value& object, const json::Value& old, const WriteContext&) {
  drop_node_ports(object, old);
  drop_dependent(object, old);
  if (json::string_at(object, {"spec", "type"}) == "ExternalName") {
    if (json::string_at(old, {"spec", "type"}) == "ExternalName") return;
    for (std::string_view member :
         {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"})
      object_in_place(object.get_object(), "spec").erase(member);
    return;
  }
  if (!json::string_at(object, {"spec", "clusterIP"}).empty()) return;
  for (std::string_view member : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"})
    if (const json::Value* before = json::find_path(old, {"spec", member}))
      json::at_path(object, {"spec", member}) = *before;
}

void add_core_service_kinds(Kinds& kinds) {
  Kind service = builtin_kind("", "v1", "services", "Service", kCorePackage);
  service.short_names = {"svc"};
  service.categories = {"all"};
  service.traits.has_status = true;
  service.traits.takes_addresses = true;
  service.subresources = {proxy_subresource("ServiceProxyOptions")};
  service.traits.create_on_update = true;
  service.traits.returns_deleted = true;
  service.traits.name_rule = NameRule::label_1035;
  service.printing.columns =
      columns({"Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector*"});
  service.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(json::string_at(object, {"spec", "type"})),
            json::Value(cluster_ip(object)),
            json::Value(external_ip(object)),
            json::Value(ports_cell(object)),
            json::Value(age(object, now)),
            json::Value(labels_text(json::find_path(object, {"spec", "selector"})))};
  };
  service.selectable = {{"spec.clusterIP", field_at({"spec", "clusterIP"})},
                        {"spec.type", field_at({"spec", "type"})}};
  service.rules.set_defaults = default_service;
  service.rules.prepare_update = keep_allocated;
  service.rules.validate = validate_service;
  service.rules.validate_update = validate_changed_service;
  add(kinds, std::move(service));
}

}  // namespace

extern const KindGroup kinds_core_service;
const KindGroup kinds_core_service{add_core_service_kinds};

}  // namespace hekla::apiserver
