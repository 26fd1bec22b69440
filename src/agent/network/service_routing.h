// Keeps the pod network's rules for services current: from Services and their EndpointSlices to
// ServiceRoutes. Endpoints count for services that have no slice: those written by hand.
// Lives on the client's executor.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/network/host_ports.h"
#include "agent/network/rules_in_force.h"
#include "agent/network/service_rules.h"
#include "base/done.h"
#include "kube/events.h"
#include "kube/informer.h"

namespace hekla::agent {

class ServiceRouting {
 public:
  struct Options {
    std::string service_cidr;
    std::string node_address;  // where pods find node ports
    // Where the kubernetes service leads: its endpoint in the API is an address of the host.
    std::pair<std::string, std::int32_t> api_target;
    std::function<void(std::string rules, Done<void> done)> set_rules;
    // Ports of the host's loopback; answers which of them are held.
    std::function<void(std::vector<HostPort>, std::function<void(std::vector<PortKey>)>)>
        set_host_ports;
    std::function<void()> on_endpoints;  // endpoints_of() answers otherwise than before
  };
  ServiceRouting(kube::Client& client, const kube::Informer<model::Service>& services,
                 Options options);

  void start();
  // Services have changed.
  void changed();
  // Null for none.
  const ServiceEndpoints* endpoints_of(const model::Service& service);

 private:
  std::optional<std::string> publish();
  void endpoints_changed();
  void read_slices();
  void publish_host_ports(const std::vector<const model::Service*>& services);
  // Whether the service's own ports are for us to hold: load balancers of another class are others'
  // work.
  bool balances(const model::Service& service);
  void refuse_balancer(const model::Service& service);
  void announce_all();
  void announce(const model::Service& service);
  void set_ingress(const model::Service& service, json::Array ingress);

  kube::Client& client_;
  const kube::Informer<model::Service>& services_;
  Options options_;
  kube::Informer<ServiceEndpoints> endpoints_;
  kube::Informer<ServiceSlice> slices_;
  std::map<kube::Key, ServiceEndpoints> sliced_;  // by service
  bool sliced_stale_ = true;
  kube::Informer<ServiceRest> rest_;
  std::vector<HostPort> host_ports_;
  std::vector<PortKey> held_;  // of these
  kube::EventRecorder events_;
  std::set<std::string> refused_;  // uids of load balancers that nobody could reach
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  RulesInForce rules_;
};

}  // namespace hekla::agent
