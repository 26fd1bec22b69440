// The network as the API and this node's pods want it: names, rules of services and policies, ports
// of the host, the way outside. Lives on the agent's executor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/dns/server.h"
#include "agent/machine/linux_machine.h"
#include "agent/network/host_ports.h"
#include "agent/network/network_policies.h"
#include "agent/network/service_routing.h"
#include "agent/node/node_pods.h"
#include "kube/events.h"
#include "net/listener.h"

namespace hekla::agent {

class NodeNetwork : public std::enable_shared_from_this<NodeNetwork> {
  struct Private {};

 public:
  struct Options {
    Subnet pods, services;
    std::string service_cidr;
    std::string node_address;  // where pods find node ports
    std::string cluster_domain;
    std::string resolv_conf;  // name servers of the outside
  };
  // All of them outlive this.
  struct Parts {
    kube::Client& client;
    kube::EventRecorder& events;
    LinuxMachine& machine;
    const NodePods& pods;
    const kube::Informer<model::Service>& services;
  };
  // Blocks: opens the sockets of names, API server and host ports.
  static Result<std::shared_ptr<NodeNetwork>> open(Parts parts, Options options);
  NodeNetwork(Private, Parts parts, Options options);

  void start();
  // Pods have changed their labels, addresses or readiness. Many changes in one turn of the loop
  // are one.
  void changed();
  void services_changed();
  // The Service by which pods find the name server; once services are known.
  void make_dns_service();

  PolicyGate& policies() { return *policies_; }
  std::string dns_address() const { return ipv4_text(options_.pods.gateway()); }
  // Once: a socket in the pods' network at which the kubernetes service arrives, listening.
  net::Socket take_api_socket() { return std::move(api_socket_); }
  // Another one, on the same address.
  Result<net::Socket> listen_for_pods(std::uint16_t port);

 private:
  Result<void> open_names();
  Result<void> open_ports();
  void open_rules();
  void check_uplink();
  void publish();
  void publish_zone();
  void publish_pod_ports();
  void policy_refused(const NetworkPolicy& policy, const std::string& why);

  Parts parts_;
  Options options_;
  std::unique_ptr<DnsServer> dns_;
  std::vector<std::string> outside_servers_;              // that it asks
  std::unique_ptr<HostPorts> service_ports_, pod_ports_;  // of the host
  std::vector<HostPort> pod_ports_wanted_;
  std::unique_ptr<ServiceRouting> routing_;
  std::unique_ptr<NetworkPolicies> policies_;
  net::Socket api_socket_;
  bool publish_pending_ = false;
};

}  // namespace hekla::agent
