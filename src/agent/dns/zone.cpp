#include "agent/dns/zone.h"

#include <algorithm>

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
  void add_service(const model::Service& service, const std::vector<const PodAddress*>& pods) {
    const std::string name =
        lower(service.metadata.name + "." + service.metadata.ns + ".svc." + zone_.domain);
    if (service.spec.type == "ExternalName") {
      if (service.spec.externalName.empty()) return;
      zone_.aliases[name] = lower(service.spec.externalName);
      note(name);
      return;
    }
    note(name);
    if (service.spec.clusterIP != "None") {
      if (auto address = parse_ipv4(service.spec.clusterIP)) {
        add_address(name, *address);
        zone_.reverse[*address] = name;
        add_ports(service, name, name);
      }
      return;
    }
    for (const PodAddress* pod : pods) {
      if (!selects(service.spec.selector, *pod)) continue;
      if (!pod->ready && !service.spec.publishNotReadyAddresses) continue;
      add_address(name, pod->address);
      bool named = !pod->hostname.empty() && pod->subdomain == service.metadata.name;
      std::string own = (named ? lower(pod->hostname) : dashed(pod->address)) + "." + name;
      add_address(own, pod->address);
      if (named) zone_.reverse[pod->address] = own;
      add_ports(service, name, own);
    }
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
  void add_ports(const model::Service& service, const std::string& name, const std::string& host) {
    for (const model::ServicePort& port : service.spec.ports) {
      if (port.name.empty()) continue;
      std::string protocol = port.protocol.empty() ? "tcp" : lower(port.protocol);
      std::string record = "_" + lower(port.name) + "._" + protocol + "." + name;
      zone_.services[record].push_back({static_cast<std::uint16_t>(port.port), host});
      note(record);
    }
  }

  Zone zone_;
};

}  // namespace

Zone make_zone(const std::string& domain, const std::vector<const model::Service*>& services,
               const std::vector<PodAddress>& pods) {
  ZoneBuilder builder(domain);
  std::map<std::string, std::vector<const PodAddress*>> by_namespace;
  for (const PodAddress& pod : pods) {
    builder.add_pod(pod);
    by_namespace[pod.ns].push_back(&pod);
  }
  for (const model::Service* service : services)
    builder.add_service(*service, by_namespace[service->metadata.ns]);
  return builder.take();
}

}  // namespace hekla::agent
