#include "agent/network/service_routing.h"

#include <algorithm>

#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kRetry{5};
constexpr const char* kLoopback = "127.0.0.1";

const kube::Resource kSlices{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true};

}  // namespace

ServiceRouting::ServiceRouting(kube::Client& client, const kube::Informer<model::Service>& services,
                               Options options)
    : client_(client),
      services_(services),
      options_(std::move(options)),
      endpoints_(client, kube::resources::endpoints),
      slices_(client, kSlices),
      rest_(client, kube::resources::services),
      events_(client, "service-controller"),
      rules_(client.executor(), {[this] { return publish(); }, options_.set_rules, "",
                                 "cluster IPs of services do not work"}) {}

void ServiceRouting::start() {
  endpoints_.on_change([this](const auto&, const auto&) { endpoints_changed(); });
  endpoints_.on_settled([this] { endpoints_changed(); });
  slices_.on_change([this](const auto&, const auto&) { endpoints_changed(); });
  slices_.on_settled([this] { endpoints_changed(); });
  rest_.on_change([this](const auto&, const auto&) { changed(); });
  rest_.on_settled([this] { changed(); });
  endpoints_.start();
  slices_.start();
  rest_.start();
}

void ServiceRouting::changed() { rules_.changed(); }

void ServiceRouting::endpoints_changed() {
  sliced_stale_ = true;
  changed();
  options_.on_endpoints();
}

void ServiceRouting::read_slices() {
  if (!std::exchange(sliced_stale_, false)) return;
  sliced_.clear();
  slices_.for_each([&](const auto& slice) {
    if (std::string service = service_of(*slice); !service.empty())
      sliced_[{slice->metadata.ns, std::move(service)}].subsets.push_back(subset_of(*slice));
  });
}

const ServiceEndpoints* ServiceRouting::endpoints_of(const model::Service& service) {
  read_slices();
  const kube::Key key{service.metadata.ns, service.metadata.name};
  if (auto found = sliced_.find(key); found != sliced_.end()) return &found->second;
  return endpoints_.get(key).get();
}

// Sets the host's ports, and answers the rules of the pods' side.
std::optional<std::string> ServiceRouting::publish() {
  if (!endpoints_.synced() || !slices_.synced() || !services_.synced() || !rest_.synced())
    return std::nullopt;
  std::vector<ServiceRoute> routes;
  std::vector<const model::Service*> outside;
  services_.for_each([&](const auto& service) {
    const kube::Key key{service->metadata.ns, service->metadata.name};
    std::vector<ServiceRoute> own = routes_of(*service, endpoints_of(*service));
    auto rest = rest_.get(key);
    for (ServiceRoute& route : own) {
      route.sticky = rest && rest->spec.sessionAffinity == "ClientIP";
      if (key.ns == "default" && key.name == "kubernetes") route.targets = {options_.api_target};
    }
    routes.insert(routes.end(), own.begin(), own.end());
    if (service->spec.type != "NodePort" && service->spec.type != "LoadBalancer") return;
    outside.push_back(service.get());
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (service->spec.ports[i].nodePort <= 0) continue;
      ServiceRoute of_node = own[i];
      of_node.address = options_.node_address;
      of_node.port = service->spec.ports[i].nodePort;
      routes.push_back(std::move(of_node));
    }
  });
  publish_host_ports(outside);
  return service_rules(std::move(routes), options_.service_cidr);
}

// Node ports, and the ports of load balancers themselves: of two that want the same, the older has
// it.
void ServiceRouting::publish_host_ports(const std::vector<const model::Service*>& services) {
  std::vector<const model::Service*> by_age = services;
  std::ranges::stable_sort(by_age, {}, [](const model::Service* service) {
    return std::tuple(service->metadata.creationTimestamp.at, service->metadata.ns,
                      service->metadata.name);
  });
  std::vector<HostPort> wanted;
  auto want = [&](std::int32_t port, const ServiceRoute& route) {
    if (port <= 0 || (route.protocol != "tcp" && route.protocol != "udp")) return;
    const PortKey key{static_cast<std::uint16_t>(port), route.protocol == "udp"};
    if (std::ranges::find(wanted, key, &HostPort::key) == wanted.end())
      wanted.push_back({key, route.targets});
  };
  for (const model::Service* service : by_age) {
    std::vector<ServiceRoute> routes = routes_of(*service, endpoints_of(*service));
    const bool balanced = balances(*service);
    for (std::size_t i = 0; i < routes.size(); ++i) {
      want(service->spec.ports[i].nodePort, routes[i]);
      if (balanced) want(routes[i].port, routes[i]);
    }
  }
  if (wanted == host_ports_) return announce_all();
  host_ports_ = wanted;
  held_.clear();
  options_.set_host_ports(std::move(wanted), [this, alive = std::weak_ptr<bool>(alive_)](
                                                 const std::vector<PortKey>& held) {
    if (!alive.lock()) return;
    held_ = held;
    announce_all();
    if (held.size() < host_ports_.size())
      client_.executor().post_after(kRetry, [this, alive] {
        if (!alive.lock()) return;
        host_ports_.clear();  // somebody else's port may be free by now
        changed();
      });
  });
}

void ServiceRouting::announce_all() {
  services_.for_each([&](const auto& service) {
    if (balances(*service)) announce(*service);
  });
}

bool ServiceRouting::balances(const model::Service& service) {
  auto rest = rest_.get({service.metadata.ns, service.metadata.name});
  if (service.spec.type != "LoadBalancer" || !rest || !rest->spec.loadBalancerClass.empty())
    return false;
  if (!admits_loopback(rest->spec)) {
    refuse_balancer(service);
    return false;
  }
  refused_.erase(service.metadata.uid);
  return true;
}

// Everybody comes from the loopback, where the ports are: ranges without it would admit nobody, and
// ignoring them everybody.
void ServiceRouting::refuse_balancer(const model::Service& service) {
  if (!refused_.insert(service.metadata.uid).second) return;
  events_.record(
      {"v1", "Service", service.metadata.ns, service.metadata.name, service.metadata.uid},
      "Warning", "SyncLoadBalancerFailed",
      "Error syncing load balancer: failed to ensure load balancer: it listens on 127.0.0.1 alone, "
      "which loadBalancerSourceRanges do not contain");
  set_ingress(service, json::Array());
}

// A load balancer has its address once all of its ports are ours; SCTP ones cannot be.
void ServiceRouting::announce(const model::Service& service) {
  auto rest = rest_.get({service.metadata.ns, service.metadata.name});
  if (!rest || !rest->status.loadBalancer.ingress.empty()) return;
  for (const model::ServicePort& port : service.spec.ports)
    if (port.protocol == "SCTP" ||
        std::ranges::count(
            held_, PortKey{static_cast<std::uint16_t>(port.port), port.protocol == "UDP"}) == 0)
      return;
  set_ingress(service, json::Array{json::Value(json::Object{{"ip", kLoopback}})});
}

void ServiceRouting::set_ingress(const model::Service& service, json::Array ingress) {
  kube::Write write;
  write.verb = kube::Write::Verb::patch;
  write.resource = kube::resources::services;
  write.key = {service.metadata.ns, service.metadata.name};
  write.subresource = "status";
  write.body = json::Object{
      {"status", json::Object{{"loadBalancer", json::Object{{"ingress", std::move(ingress)}}}}}};
  client_.write(std::move(write), [this, alive = std::weak_ptr<bool>(alive_),
                                   name = service.metadata.name](const kube::WriteResult& done) {
    if (done || done.error().code == Code::not_found || !alive.lock()) return;
    log_warn("agent", "announce a load balancer",
             {{"service", name}, {"error", done.error().message}});
    client_.executor().post_after(kRetry, [this, alive] {
      if (alive.lock()) changed();
    });
  });
}

}  // namespace hekla::agent
