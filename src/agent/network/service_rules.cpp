#include "agent/network/service_rules.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "agent/network/address_pool.h"

namespace hekla::agent {
namespace {

bool is_ipv4(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
}

std::string nft_protocol(const std::string& kubernetes) {
  if (kubernetes == "UDP") return "udp";
  return kubernetes == "SCTP" ? "sctp" : "tcp";
}

// Endpoints name a port as its service does; with one unnamed port on both sides names are empty.
void add_targets(ServiceRoute& route, const model::ServicePort& port,
                 const EndpointSubset& subset) {
  for (const EndpointPort& target : subset.ports) {
    if (target.name != port.name || nft_protocol(target.protocol) != route.protocol) continue;
    for (const EndpointAddress& address : subset.addresses)
      if (is_ipv4(address.ip)) route.targets.emplace_back(address.ip, target.port);
  }
}

std::string dispatch_rule(const ServiceRoute& route) {
  std::string rule = "    ip daddr " + route.address + " " + route.protocol + " dport " +
                     std::to_string(route.port);
  if (route.targets.size() == 1)
    return rule + " dnat to " + route.targets[0].first + ":" +
           std::to_string(route.targets[0].second) + "\n";
  rule += std::string(" dnat ip addr . port to ") +
          (route.sticky ? "jhash ip saddr" : "numgen random") + " mod " +
          std::to_string(route.targets.size()) + " map { ";
  for (std::size_t i = 0; i < route.targets.size(); ++i)
    rule += (i == 0 ? "" : ", ") + std::to_string(i) + " : " + route.targets[i].first + " . " +
            std::to_string(route.targets[i].second);
  return rule + " }\n";
}

}  // namespace

std::string service_of(const ServiceSlice& slice) {
  auto label = slice.metadata.labels.find("kubernetes.io/service-name");
  return label == slice.metadata.labels.end() ? "" : label->second;
}

EndpointSubset subset_of(const ServiceSlice& slice) {
  EndpointSubset subset;
  subset.ports = slice.ports;
  for (const SliceEndpoint& endpoint : slice.endpoints)
    if (endpoint.conditions.ready.value_or(true) && !endpoint.addresses.empty())
      subset.addresses.push_back({endpoint.addresses.front(), endpoint.hostname});
  return subset;
}

bool admits_loopback(const ServiceOptions& service) {
  constexpr std::uint32_t kLoopback = 0x7f000001;
  return service.loadBalancerSourceRanges.empty() ||
         std::ranges::any_of(service.loadBalancerSourceRanges, [](const std::string& range) {
           const std::size_t slash = range.find('/');
           const std::optional<std::uint32_t> base = parse_ipv4(range.substr(0, slash));
           int prefix = 32;
           if (slash != std::string::npos)
             std::from_chars(range.data() + slash + 1, range.data() + range.size(), prefix);
           if (!base || prefix < 0 || prefix > 32) return false;
           return prefix == 0 || (*base ^ kLoopback) >> (32 - prefix) == 0;
         });
}

std::vector<ServiceRoute> routes_of(const model::Service& service,
                                    const ServiceEndpoints* endpoints) {
  std::vector<ServiceRoute> routes;
  if (!is_ipv4(service.spec.clusterIP) || service.spec.type == "ExternalName") return routes;
  for (const model::ServicePort& port : service.spec.ports) {
    ServiceRoute route{service.spec.clusterIP, nft_protocol(port.protocol), port.port, {}};
    if (endpoints)
      for (const EndpointSubset& subset : endpoints->subsets) add_targets(route, port, subset);
    std::sort(route.targets.begin(), route.targets.end());
    route.targets.erase(std::unique(route.targets.begin(), route.targets.end()),
                        route.targets.end());
    routes.push_back(std::move(route));
  }
  return routes;
}

std::string service_rules(std::vector<ServiceRoute> routes, const std::string& service_cidr) {
  std::sort(routes.begin(), routes.end());
  // Naming the table before deleting it makes the first time like every other.
  std::string text =
      "table ip hekla_services\n"
      "delete table ip hekla_services\n"
      "table ip hekla_services {\n"
      "  chain dispatch {\n"
      "    type nat hook prerouting priority dstnat; policy accept;\n";
  for (const ServiceRoute& route : routes)
    if (!route.targets.empty()) text += dispatch_rule(route);
  // A pod that reaches itself would not believe a packet from its own address.
  std::set<std::string> own;
  for (const ServiceRoute& route : routes)
    for (const auto& [address, port] : route.targets) own.insert(address + " . " + address);
  std::string same;
  for (const std::string& pair : own) same += (same.empty() ? "" : ", ") + pair;
  return text +
         "  }\n"
         "  chain source {\n"
         "    type nat hook postrouting priority srcnat; policy accept;\n" +
         (same.empty() ? ""
                       : "    ct status dnat ip saddr . ip daddr { " + same + " } masquerade\n") +
         "  }\n"
         "  chain unserved {\n"
         "    type filter hook prerouting priority filter; policy accept;\n"
         "    ip daddr " +
         service_cidr +
         " meta l4proto tcp reject with tcp reset\n"
         "    ip daddr " +
         service_cidr +
         " reject with icmp type port-unreachable\n"
         "  }\n"
         "}\n";
}

}  // namespace hekla::agent
