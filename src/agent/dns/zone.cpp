#include "agent/dns/zone.h"

#include <algorithm>
#include <optional>

#include "agent/network/address_pool.h"

namespace hekla::agent {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string dashed(std::uint32_t address) {
  std::string text = ipv4_text(address);
  std::ranges::replace(text, '.', '-');
  return text;
}

bool selects(const std::map<std::string, std::string>& selector, const PodAddress& pod) {
  if (selector.empty()) return false;
  return std::ranges::all_of(selector, [&](const auto& wanted) {
    auto found = pod.labels.find(wanted.first);
    return found != pod.labels.end() && found->second == wanted.second;
  });
}

class ZoneBuilder {
 public:
  explicit ZoneBuilder(const std::string& domain) { zone_.domain = domain; }

  void add_pod(const PodAddress& pod) {
    std::string name = dashed(pod.address) + "." + pod.ns + ".pod." + zone_.domain;
    add_address(name, pod.address);
    zone_.reverse.emplace(pod.address, name);
  }
  void add_service(const model::Service& service, const std::vector<const PodAddress*>& pods,
                   const ServiceEndpoints* endpoints) {
    const std::string name =
        lower(service.metadata.name + "." + service.metadata.ns + ".svc." + zone_.domain);
    if (service.spec.type == "ExternalName") {
      std::string target = lower(service.spec.externalName);
      if (target.ends_with('.')) target.pop_back();
      if (target.empty()) return;
      zone_.aliases[name] = target;
      note(name);
      return;
    }
    note(name);
    if (service.spec.clusterIP != "None") {
      if (auto address = parse_ipv4(service.spec.clusterIP)) {
        add_address(name, *address);
        zone_.reverse[*address] = name;
        for (const model::ServicePort& port : service.spec.ports)
          add_port(port.name, port.protocol, port.port, name, name);
      }
      return;
    }
    std::set<std::uint32_t> unready;
    for (const PodAddress* pod : pods) {
      if (!selects(service.spec.selector, *pod)) continue;
      bool named = !pod->hostname.empty() && pod->subdomain == service.metadata.name;
      if (pod->ready || service.spec.publishNotReadyAddresses)
        add_member(name, pod->address, named ? pod->hostname : "");
      else
        unready.insert(pod->address);
    }
    if (endpoints)
      for (const EndpointSubset& subset : endpoints->subsets) add_subset(name, subset, unready);
  }
  Zone take() {
    note(zone_.domain);
    return std::move(zone_);
  }

 private:
  void note(std::string name) {
    while (zone_.names.insert(name).second && name != zone_.domain) {
      std::size_t dot = name.find('.');
      if (dot == std::string::npos) return;
      name.erase(0, dot + 1);
    }
  }
  void add_address(const std::string& name, std::uint32_t address) {
    std::vector<std::uint32_t>& all = zone_.addresses[name];
    if (std::ranges::find(all, address) == all.end()) all.push_back(address);
    note(name);
  }
  // One address of a headless service; returns its own name.
  std::string add_member(const std::string& service, std::uint32_t address,
                         const std::string& hostname) {
    add_address(service, address);
    std::string own = (hostname.empty() ? dashed(address) : lower(hostname)) + "." + service;
    add_address(own, address);
    if (!hostname.empty()) zone_.reverse[address] = own;
    return own;
  }
  void add_subset(const std::string& service, const EndpointSubset& subset,
                  const std::set<std::uint32_t>& unready) {
    for (const EndpointAddress& endpoint : subset.addresses) {
      std::optional<std::uint32_t> address = parse_ipv4(endpoint.ip);
      if (!address || unready.contains(*address)) continue;
      const std::string own = add_member(service, *address, endpoint.hostname);
      for (const EndpointPort& port : subset.ports)
        add_port(port.name, port.protocol, port.port, service, own);
    }
  }
  void add_port(const std::string& port, const std::string& protocol, std::int32_t number,
                const std::string& service, const std::string& host) {
    if (port.empty()) return;
    std::string record =
        "_" + lower(port) + "._" + (protocol.empty() ? "tcp" : lower(protocol)) + "." + service;
    zone_.services[record].push_back({static_cast<std::uint16_t>(number), host});
    note(record);
  }

  Zone zone_;
};

}  // namespace

Zone make_zone(const std::string& domain, const std::vector<const model::Service*>& services,
               const std::vector<PodAddress>& pods, const EndpointsOf& endpoints_of) {
  ZoneBuilder builder(domain);
  std::map<std::string, std::vector<const PodAddress*>> by_namespace;
  for (const PodAddress& pod : pods) {
    builder.add_pod(pod);
    by_namespace[pod.ns].push_back(&pod);
  }
  for (const model::Service* service : services)
    builder.add_service(*service, by_namespace[service->metadata.ns],
                        endpoints_of ? endpoints_of(*service) : nullptr);
  return builder.take();
}

}  // namespace hekla::agent
