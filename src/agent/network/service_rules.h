// The way from a cluster IP to its pods: nftables rules of the pod network's parent namespace,
// which every pod's default route leads through. Pure text; PodNetwork puts it in force.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/core.h"

namespace hekla::agent {

struct EndpointAddress {
  std::string ip, hostname;
};
BOOST_DESCRIBE_STRUCT(EndpointAddress, (), (ip, hostname))
struct EndpointPort {
  std::string name, protocol;
  std::int32_t port = 0;
};
BOOST_DESCRIBE_STRUCT(EndpointPort, (), (name, protocol, port))
struct EndpointSubset {
  std::vector<EndpointAddress> addresses;
  std::vector<EndpointPort> ports;
};
BOOST_DESCRIBE_STRUCT(EndpointSubset, (), (addresses, ports))
struct ServiceEndpoints {
  model::ObjectMeta metadata;
  std::vector<EndpointSubset> subsets;
};
BOOST_DESCRIBE_STRUCT(ServiceEndpoints, (), (metadata, subsets))

// As endpoint slices say it.
struct SliceConditions {
  std::optional<bool> ready;  // unknown counts as ready
};
BOOST_DESCRIBE_STRUCT(SliceConditions, (), (ready))
struct SliceEndpoint {
  std::vector<std::string> addresses;
  SliceConditions conditions;
  std::string hostname;
};
BOOST_DESCRIBE_STRUCT(SliceEndpoint, (), (addresses, conditions, hostname))
struct ServiceSlice {
  model::ObjectMeta metadata;
  std::vector<SliceEndpoint> endpoints;
  std::vector<EndpointPort> ports;
};
BOOST_DESCRIBE_STRUCT(ServiceSlice, (), (metadata, endpoints, ports))

// The name of the service that a slice is of; empty when it is nobody's.
std::string service_of(const ServiceSlice& slice);
EndpointSubset subset_of(const ServiceSlice& slice);

// One port of one service, and where it leads. Without targets connections are refused.
struct ServiceRoute {
  std::string address, protocol;  // protocol as nftables writes it: tcp, udp, sctp
  std::int32_t port = 0;
  std::vector<std::pair<std::string, std::int32_t>> targets;
  bool sticky = false;  // one client, one target, for as long as the targets stay the same
  auto operator<=>(const ServiceRoute&) const = default;
};

// Members of a Service that model::Service leaves out.
struct ServiceOptions {
  std::string sessionAffinity, loadBalancerClass;
  std::vector<std::string> loadBalancerSourceRanges;
};
BOOST_DESCRIBE_STRUCT(ServiceOptions, (),
                      (sessionAffinity, loadBalancerClass, loadBalancerSourceRanges))
struct LoadBalancerIngress {
  std::string ip;
};
BOOST_DESCRIBE_STRUCT(LoadBalancerIngress, (), (ip))
struct LoadBalancerStatus {
  std::vector<LoadBalancerIngress> ingress;
};
BOOST_DESCRIBE_STRUCT(LoadBalancerStatus, (), (ingress))
struct ServiceStatus {
  LoadBalancerStatus loadBalancer;
};
BOOST_DESCRIBE_STRUCT(ServiceStatus, (), (loadBalancer))
struct ServiceRest {
  model::ObjectMeta metadata;
  ServiceOptions spec;
  ServiceStatus status;
};
BOOST_DESCRIBE_STRUCT(ServiceRest, (), (metadata, spec, status))

// Whether clients at the host's loopback, the only ones there are, are among those the service
// admits.
bool admits_loopback(const ServiceOptions& service);

// Services without a cluster IP have no route; null endpoints count as empty. Only IPv4.
std::vector<ServiceRoute> routes_of(const model::Service& service,
                                    const ServiceEndpoints* endpoints);

// The whole table, replacing the one before in one step.
std::string service_rules(std::vector<ServiceRoute> routes, const std::string& service_cidr);

}  // namespace hekla::agent
