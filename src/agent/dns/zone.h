// The names of the cluster, computed from services and the pods that run here. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/network/address_pool.h"
#include "agent/network/service_rules.h"
#include "model/core.h"

namespace hekla::agent {

// A pod as DNS needs it; the agent's own knowledge, ahead of the API's.
struct PodAddress {
  std::string ns, name, hostname, subdomain;
  std::map<std::string, std::string> labels;
  std::uint32_t address = 0;  // host byte order
  bool ready = false;
};

struct ServiceTarget {
  std::uint16_t port = 0;
  std::string host;
};

// Names are lower case without the final dot.
struct Zone {
  std::string domain = "cluster.local";
  std::map<std::string, std::vector<std::uint32_t>> addresses;
  std::map<std::string, std::string> aliases;                  // ExternalName services
  std::map<std::string, std::vector<ServiceTarget>> services;  // _http._tcp.web.default.svc...
  std::map<std::uint32_t, std::string> reverse;
  std::vector<Subnet> ranges;  // addresses that have a name here or none

  // Also true of the inner nodes of the tree ("svc.cluster.local"), which own no record.
  bool has(const std::string& name) const { return names.contains(name); }
  // Every name and every name above it.
  std::set<std::string> names;
};

// Null when there are none.
using EndpointsOf = std::function<const ServiceEndpoints*(const model::Service& service)>;

// Kubernetes' rules: only ready pods unless the service publishes all; a headless service is its
// endpoints, any other its cluster IP; hostname.subdomain exists when a headless service of that
// name selects the pod. Of a pod that runs here we know before its endpoint does.
Zone make_zone(const std::string& domain, const std::vector<const model::Service*>& services,
               const std::vector<PodAddress>& pods, const EndpointsOf& endpoints_of = nullptr);

}  // namespace hekla::agent
