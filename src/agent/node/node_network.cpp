#include "agent/node/node_network.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <sstream>

#include "agent/dns/dns_service.h"
#include "base/check.h"
#include "base/disk.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::uint16_t kApiPort = 6443;  // in the pods' network, on the bridge's address
constexpr std::chrono::seconds kCheckPeriod{10};

// Of a text like /etc/resolv.conf.
std::vector<std::string> name_servers(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, address;
    words >> word >> address;
    if (word == "nameserver" && !address.empty()) out.push_back(address);
  }
  return out;
}

Result<net::Socket> listen_in_parent(LinuxMachine& machine, std::uint32_t address,
                                     std::uint16_t port) {
  FileDescriptor socket = TRY(machine.parent_socket(SOCK_STREAM | SOCK_NONBLOCK));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(address);
  name.sin_port = htons(port);
  int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(socket.get(), 1024) != 0)
    return errno_error("listen for pods that talk to the platform");
  return net::Socket(socket.release());
}

}  // namespace

Result<std::shared_ptr<NodeNetwork>> NodeNetwork::open(Parts parts, Options options) {
  auto network = std::make_shared<NodeNetwork>(Private{}, parts, std::move(options));
  TRY(network->open_names());
  TRY(network->open_ports());
  network->open_rules();
  return network;
}

NodeNetwork::NodeNetwork(Private, Parts parts, Options options)
    : parts_(parts), options_(std::move(options)) {}

Result<void> NodeNetwork::open_names() {
  LinuxMachine& machine = parts_.machine;
  dns_ = TRY(DnsServer::start(TRY(machine.parent_socket(SOCK_DGRAM)),
                              TRY(machine.parent_socket(SOCK_STREAM)), options_.pods.gateway()));
  api_socket_ = TRY(listen_in_parent(machine, options_.pods.gateway(), kApiPort));
  return {};
}

Result<net::Socket> NodeNetwork::listen_for_pods(std::uint16_t port) {
  return listen_in_parent(parts_.machine, options_.pods.gateway(), port);
}

Result<void> NodeNetwork::open_ports() {
  auto dial = [&machine = parts_.machine](bool udp, Done<FileDescriptor> done) {
    machine.dial_parent(udp ? SOCK_DGRAM : SOCK_STREAM, std::move(done));
  };
  service_ports_ = TRY(HostPorts::open(parts_.client.executor(), dial));
  pod_ports_ = TRY(HostPorts::open(parts_.client.executor(), dial));
  return {};
}

void NodeNetwork::open_rules() {
  LinuxMachine& machine = parts_.machine;
  ServiceRouting::Options routing;
  routing.service_cidr = options_.service_cidr;
  routing.node_address = options_.node_address;
  routing.api_target = {dns_address(), kApiPort};
  routing.set_rules = [&machine](std::string rules, Done<void> done) {
    machine.set_rules("services", std::move(rules), std::move(done));
  };
  routing.set_host_ports = [this](auto ports, auto held) {
    service_ports_->set(std::move(ports), std::move(held));
  };
  routing.on_endpoints = [this] { changed(); };
  routing_ = std::make_unique<ServiceRouting>(parts_.client, parts_.services, std::move(routing));
  NetworkPolicies::Options policies;
  policies.pods = [this] { return parts_.pods.policy_pods(); };
  policies.set_rules = [&machine](std::string rules, Done<void> done) {
    machine.set_rules("policies", std::move(rules), std::move(done));
  };
  policies.check_rules = [&machine](std::string rules, Done<void> done) {
    machine.check_rules("policy-check", std::move(rules), std::move(done));
  };
  policies.refused = [this](const NetworkPolicy& policy, const std::string& why) {
    policy_refused(policy, why);
  };
  policies.dns_address = dns_address();
  policies.fresh = machine.is_new();
  policies_ = std::make_unique<NetworkPolicies>(parts_.client, std::move(policies));
}

void NodeNetwork::start() {
  routing_->start();
  policies_->start();
  check_uplink();
}

void NodeNetwork::services_changed() {
  changed();
  routing_->changed();
}

// The way outside may end, and the machine's name servers may change.
void NodeNetwork::check_uplink() {
  parts_.machine.check_uplink();
  if (parts_.machine.reaches_outside()) {
    std::vector<std::string> servers = name_servers(read_file(options_.resolv_conf).value_or(""));
    if (servers != outside_servers_) dns_->use_name_servers(outside_servers_ = std::move(servers));
  }
  parts_.client.executor().post_after(kCheckPeriod, [self = weak_from_this()] {
    if (auto network = self.lock()) network->check_uplink();
  });
}

void NodeNetwork::make_dns_service() {
  const bool known = parts_.services.get({"kube-system", "kube-dns"}) != nullptr;
  auto writes = dns_service_writes(options_.services, dns_address(), known);
  parts_.client.batch(std::move(writes), [](const std::vector<kube::WriteResult>& done) {
    for (const kube::WriteResult& result : done)
      if (!result && result.error().code != Code::already_exists)
        log_warn("agent", "make the service kube-system/kube-dns",
                 {{"error", result.error().message}});
  });
}

void NodeNetwork::changed() {
  if (std::exchange(publish_pending_, true)) return;
  parts_.client.executor().post([self = weak_from_this()] {
    if (auto network = self.lock()) network->publish();
  });
}

void NodeNetwork::publish() {
  publish_pending_ = false;
  policies_->changed();
  publish_pod_ports();
  publish_zone();
}

void NodeNetwork::publish_zone() {
  std::vector<const model::Service*> all;
  parts_.services.for_each([&](const auto& service) { all.push_back(service.get()); });
  Zone zone =
      make_zone(options_.cluster_domain, all, parts_.pods.addresses(),
                [this](const model::Service& service) { return routing_->endpoints_of(service); });
  zone.ranges = {options_.pods, options_.services};
  dns_->publish(std::move(zone));
}

void NodeNetwork::publish_pod_ports() {
  std::vector<HostPort> wanted = parts_.pods.host_ports();
  if (wanted == pod_ports_wanted_) return;
  pod_ports_wanted_ = wanted;
  auto taken = [self = weak_from_this()](const std::vector<PortKey>& ours) {
    auto network = self.lock();
    if (!network || ours.size() >= network->pod_ports_wanted_.size()) return;
    network->parts_.client.executor().post_after(kCheckPeriod, [self] {
      auto later = self.lock();
      if (!later) return;
      later->pod_ports_wanted_.clear();  // somebody else's port may be free by now
      later->changed();
    });
  };
  pod_ports_->set(std::move(wanted), std::move(taken));
}

void NodeNetwork::policy_refused(const NetworkPolicy& policy, const std::string& why) {
  const model::ObjectMeta& meta = policy.metadata;
  const std::string said =
      "its rules cannot be set, so that it lets nothing through to or from the pods it selects: " +
      why;
  log_error("agent", "network policy " + meta.ns + "/" + meta.name + ": " + said, {});
  parts_.events.record({"networking.k8s.io/v1", "NetworkPolicy", meta.ns, meta.name, meta.uid, 0},
                       "Warning", "NetworkPolicyRefused", said);
}

}  // namespace hekla::agent
