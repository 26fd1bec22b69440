#include "apiserver/kinds/rules/service_rules.h"

#include "apiserver/kinds/rules/rules.h"
#include "apiserver/text/field_error.h"
#include "model/formats.h"
#include "model/names.h"

namespace hekla::apiserver {
namespace {

void validate_ports(const Field& spec, Rules& rules) {
  Field ports = spec["ports"];
  bool headless = spec["clusterIP"].text() == "None";
  if (ports.items().empty() && !headless && spec["type"].text() != "ExternalName")
    rules.required(ports);
  std::set<std::string> names, seen;
  bool named = ports.items().size() > 1;
  for (std::size_t i = 0; i < ports.items().size(); ++i) {
    Field port = ports.at(i);
    if (named || !port["name"].text().empty()) {
      if (rules.need_text(port["name"])) {
        rules.dns_label(port["name"]);
        rules.unique(names, port["name"]);
      }
    }
    rules.port(port["port"]);
    rules.one_of(port["protocol"], {"SCTP", "TCP", "UDP"}, true);
    rules.port_or_name(port["targetPort"]);
    if (port["appProtocol"].present()) rules.qualified_name(port["appProtocol"]);
    if (port["nodePort"].number() != 0 && spec["type"].text() == "ClusterIP")
      rules.forbidden(port["nodePort"], "may not be used when `type` is 'ClusterIP'");
    std::string key =
        std::string(port["protocol"].text()) + "/" + std::to_string(port["port"].number());
    if (!seen.insert(key).second)
      rules.causes.push_back(duplicate_value(port.path(), port.value()));
  }
}

// Where nobody else may stand in for the node itself.
void validate_external_ip(const Field& field, Rules& rules) {
  if (!rules.ip(field)) return;
  const std::string_view ip = field.text();
  if (ip == "0.0.0.0" || ip == "::")
    rules.invalid(field, "may not be unspecified (" + std::string(ip) + ")");
  if (ip.starts_with("127.") || ip == "::1")
    rules.invalid(field, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
  if (ip.starts_with("169.254.") || ip.starts_with("fe80:"))
    rules.invalid(field, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  if (ip.starts_with("224.0.0.") || ip.starts_with("ff02:"))
    rules.invalid(field, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

void validate_session_affinity(const Field& spec, Rules& rules) {
  constexpr std::int64_t kLongest = 86400;
  if (!rules.one_of(spec["sessionAffinity"], {"ClientIP", "None"}, true)) return;
  const Field config = spec["sessionAffinityConfig"],
              seconds = config["clientIP"]["timeoutSeconds"];
  if (spec["sessionAffinity"].text() != "ClientIP") return;
  constexpr std::string_view kWhen = "when session affinity type is ClientIP";
  if (!config.present())
    rules.required(config, std::string(kWhen));
  else if (!config["clientIP"].present())
    rules.required(config["clientIP"], std::string(kWhen));
  else if (!seconds.present())
    rules.required(seconds, std::string(kWhen));
  else if (seconds.number() <= 0 || seconds.number() > kLongest)
    rules.invalid(seconds, "must be greater than 0 and less than 86400");
}

// Members that only a load balancer has.
void validate_balancer(const Field& spec, Rules& rules) {
  constexpr std::string_view kOnly = "may only be used when `type` is 'LoadBalancer'";
  const bool balancer = spec["type"].text() == "LoadBalancer";
  const Field ranges(spec["loadBalancerSourceRanges"].value(),
                     spec["LoadBalancerSourceRanges"].path());
  if (!ranges.items().empty() && !balancer) rules.forbidden(ranges, std::string(kOnly));
  for (std::size_t i = 0; i < ranges.items().size(); ++i) {
    std::string_view range = ranges.at(i).text();
    while (range.starts_with(' ')) range.remove_prefix(1);
    while (range.ends_with(' ')) range.remove_suffix(1);
    if (!model::is_cidr(range))
      rules.invalid(ranges.at(i), json::Value(range),
                    "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
  }
  for (std::string_view member : {"allocateLoadBalancerNodePorts", "loadBalancerClass"})
    if (spec[member].present() && !balancer) rules.forbidden(spec[member], std::string(kOnly));
  if (spec["loadBalancerClass"].present() && balancer)
    rules.qualified_name(spec["loadBalancerClass"]);
}

void validate_traffic(const Field& spec, Rules& rules) {
  const Field external = spec["externalTrafficPolicy"];
  if (is_externally_accessible(spec.value()))
    rules.one_of(external, {"Cluster", "Local"}, true);
  else if (!external.text().empty())
    rules.invalid(external, "may only be set for externally-accessible services");
  if (const Field health = spec["healthCheckNodePort"]; health.number() != 0) {
    if (needs_health_check(spec.value()))
      rules.port(health);
    else
      rules.invalid(
          health,
          "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
  }
  rules.one_of(spec["internalTrafficPolicy"], {"Cluster", "Local"});
  rules.one_of(spec["trafficDistribution"], {"PreferClose", "PreferSameZone", "PreferSameNode"});
}

void validate_families(const Field& spec, Rules& rules) {
  const Field families = spec["ipFamilies"];
  std::set<std::string> seen;
  for (std::size_t i = 0; i < families.items().size(); ++i) {
    rules.one_of(families.at(i), {"IPv4", "IPv6"});
    rules.unique(seen, families.at(i));
  }
  rules.one_of(spec["ipFamilyPolicy"], {"PreferDualStack", "RequireDualStack", "SingleStack"});
}

void validate_external_name(const Field& spec, Rules& rules) {
  for (std::string_view member : {"clusterIPs", "ipFamilies"})
    if (!spec[member].items().empty())
      rules.forbidden(spec[member], "may not be set for ExternalName services");
  if (spec["ipFamilyPolicy"].present())
    rules.forbidden(spec["ipFamilyPolicy"], "may not be set for ExternalName services");
  std::string_view name = spec["externalName"].text();
  if (name.ends_with('.')) name.remove_suffix(1);  // a full name
  if (name.empty())
    rules.required(spec["externalName"]);
  else
    for (const std::string& why : model::dns1123_subdomain_errors(name))
      rules.invalid(spec["externalName"], json::Value(name), why);
}

}  // namespace

bool is_externally_accessible(const json::Value& spec) {
  const std::string_view type = json::string_at(spec, {"type"});
  const json::Array* addresses = json::array_at(spec, {"externalIPs"});
  return type == "LoadBalancer" || type == "NodePort" ||
         (type == "ClusterIP" && addresses && !addresses->empty());
}

bool needs_health_check(const json::Value& spec) {
  return json::string_at(spec, {"type"}) == "LoadBalancer" &&
         json::string_at(spec, {"externalTrafficPolicy"}) == "Local";
}

std::vector<Cause> validate_service(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  std::string_view type = spec["type"].text();
  validate_ports(spec, rules);
  bool headless = spec["clusterIP"].text() == "None";
  if (headless && (type == "LoadBalancer" || type == "NodePort"))
    rules.invalid(Field(spec["clusterIP"].value(), "spec.clusterIPs[0]"),
                  "may not be set to 'None' for " + std::string(type) + " services");
  if (type == "ExternalName") {
    validate_external_name(spec, rules);
  } else {
    if (!headless && !spec["clusterIP"].text().empty())
      rules.ip(Field(spec["clusterIP"].value(), "spec.clusterIPs[0]"));
    validate_families(spec, rules);
  }
  rules.labels(spec["selector"]);
  validate_session_affinity(spec, rules);
  for (std::size_t i = 0; i < spec["externalIPs"].items().size(); ++i)
    validate_external_ip(spec["externalIPs"].at(i), rules);
  rules.one_of(spec["type"], {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, true);
  validate_balancer(spec, rules);
  validate_traffic(spec, rules);
  return std::move(rules.causes);
}

std::vector<Cause> validate_changed_service(const json::Value& object, const json::Value& old) {
  Rules rules;
  Field now = Field(object, "")["spec"], before = Field(old, "")["spec"];
  if (needs_health_check(now.value()) && needs_health_check(before.value()) &&
      !same(now["healthCheckNodePort"], before["healthCheckNodePort"]))
    rules.forbidden(now["healthCheckNodePort"], std::string(kImmutable));
  bool was_named = before["type"].text() == "ExternalName",
       is_named = now["type"].text() == "ExternalName";
  if (was_named || is_named || before["clusterIP"].text().empty()) return std::move(rules.causes);
  if (!same(now["clusterIP"], before["clusterIP"]))
    rules.invalid(Field(now["clusterIPs"].value(), "spec.clusterIPs[0]"),
                  json::Value(json::Array{now["clusterIP"].value()}), "may not change once set");
  return std::move(rules.causes);
}

}  // namespace hekla::apiserver
