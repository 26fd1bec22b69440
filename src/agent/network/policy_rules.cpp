#include "agent/network/policy_rules.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "agent/network/address_pool.h"

namespace hekla::agent {
namespace {

constexpr std::int64_t kHighestPort = 65535;
constexpr int kDnsPort = 53;

bool selected(const json::Value& selector, const model::Labels& labels) {
  Result<model::Selector> parsed =
      model::Selector::from_label_selector(selector.is_object() ? selector : json::Object{});
  return parsed && parsed->matches(labels);
}

bool applies(const NetworkPolicy& policy, const model::Pod& pod, const char* type) {
  return policy.metadata.ns == pod.metadata.ns &&
         selected(policy.spec.podSelector, pod.metadata.labels) &&
         std::ranges::count(policy.spec.policyTypes, type) > 0;
}

std::string braces(const std::set<std::string>& items) {
  std::string out = "{ ";
  for (const std::string& item : items) out += (out.size() > 2 ? ", " : "") + item;
  return out + " }";
}

// "10.0.0.0/8".
bool is_ipv4_block(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !parse_ipv4(text.substr(0, slash))) return false;
  const std::string_view bits = text.substr(slash + 1);
  int prefix = 0;
  auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), prefix);
  return error == std::errc{} && end == bits.data() + bits.size() && prefix >= 0 && prefix <= 32;
}

// The number a port of that name has in a container of the pod.
std::optional<std::int64_t> named_port(const model::Pod& pod, std::string_view name,
                                       std::string_view protocol) {
  for (const model::Container& container : pod.spec.containers)
    for (const model::ContainerPort& port : container.ports)
      if (port.name == name && (port.protocol.empty() ? "TCP" : port.protocol) == protocol)
        return port.containerPort;
  return std::nullopt;
}

struct PortRange {
  std::int64_t first = 0, last = kHighestPort;
};
bool is_everything(const PortRange& range) {
  return range.first == 0 && range.last == kHighestPort;
}

// The ports of a rule; no ports means every one. A port nobody has admits nothing.
struct Ports {
  bool all = false;
  std::map<std::string, std::vector<PortRange>> ranges;  // by protocol, as nftables writes it
};

Ports ports_of(const json::Value& rule, const model::Pod* target) {
  const json::Array* ports = json::array_at(rule, {"ports"});
  if (!ports || ports->empty()) return {true, {}};
  Ports out;
  for (const json::Value& port : *ports) {
    std::string protocol(json::string_at(port, {"protocol"}));
    if (protocol.empty()) protocol = "TCP";
    PortRange range;
    if (const json::Value* number = json::find(port, "port"); number && number->is_string()) {
      std::optional<std::int64_t> named;
      if (target) named = named_port(*target, number->as_string(), protocol);
      if (!named) continue;
      range = {*named, *named};
    } else if (number && !number->is_null()) {
      const std::int64_t first = json::int_at(port, {"port"});
      const std::int64_t end = json::int_at(port, {"endPort"});
      range = {first, end > first ? std::min(end, kHighestPort) : first};
    }
    std::ranges::transform(protocol, protocol.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    out.ranges[protocol].push_back(range);
  }
  return out;
}

// "tcp dport { 80, 90-99 }", one per protocol.
std::vector<std::string> matches_of(const Ports& ports) {
  std::vector<std::string> out;
  for (const auto& [protocol, ranges] : ports.ranges) {
    if (std::ranges::any_of(ranges, is_everything)) {
      out.push_back("meta l4proto " + protocol);
      continue;
    }
    std::set<std::string> texts;
    for (const auto& [first, last] : ranges)
      texts.insert(std::to_string(first) + (last > first ? "-" + std::to_string(last) : ""));
    out.push_back(protocol + " dport " + braces(texts));
  }
  return out;
}

// The ports at which names are answered.
Ports dns_ports(const Ports& ports) {
  Ports out;
  for (const char* protocol : {"tcp", "udp"}) {
    auto found = ports.ranges.find(protocol);
    if (ports.all || (found != ports.ranges.end() &&
                      std::ranges::any_of(found->second, [](const PortRange& range) {
                        return range.first <= kDnsPort && kDnsPort <= range.last;
                      })))
      out.ranges[protocol] = {{kDnsPort, kDnsPort}};
  }
  return out;
}

const model::Pod& dns_pod() {
  static const model::Pod pod = [] {
    model::Pod made;
    made.metadata.ns = "kube-system";
    made.metadata.labels = {{"k8s-app", "kube-dns"}};
    made.spec.containers.resize(1);
    made.spec.containers[0].ports = {
        {.name = "dns", .protocol = "UDP", .containerPort = kDnsPort},
        {.name = "dns-tcp", .protocol = "TCP", .containerPort = kDnsPort}};
    return made;
  }();
  return pod;
}

// One direction of one pod.
struct Direction {
  const char *type, *rules, *peers, *side;
};
constexpr Direction kIngress{"Ingress", "ingress", "from", "saddr"};
constexpr Direction kEgress{"Egress", "egress", "to", "daddr"};

class ChainWriter {
 public:
  ChainWriter(const PolicyInput& input, const model::Pod& pod, const Direction& direction)
      : input_(input), pod_(pod), direction_(direction) {}

  // Admitted packets return to the caller, for the other side has its say too; empty when no
  // policy isolates the pod.
  std::optional<std::string> body() {
    bool isolated = false;
    for (const NetworkPolicy* policy : input_.policies) {
      if (!applies(*policy, pod_, direction_.type)) continue;
      isolated = true;
      if (input_.refused.contains(policy->metadata.uid)) continue;
      for (const json::Value& rule : is_ingress() ? policy->spec.ingress : policy->spec.egress)
        add_rule(*policy, rule);
    }
    if (!isolated) return std::nullopt;
    return body_ + "    drop\n";
  }

 private:
  bool is_ingress() const { return &direction_ == &kIngress; }

  void add_rule(const NetworkPolicy& policy, const json::Value& rule) {
    const Ports own = ports_of(rule, is_ingress() ? &pod_ : nullptr);
    const json::Array* peers = json::array_at(rule, {direction_.peers});
    if (!peers || peers->empty()) return put("", own);
    std::set<std::string> addresses;
    for (const json::Value& peer : *peers) {
      if (const json::Value* block = json::find(peer, "ipBlock")) {
        if (std::optional<std::string> match = block_match(*block)) put(*match, own);
        continue;
      }
      for (const PolicyInput::Pod& other : input_.pods) {
        if (!is_peer(policy, peer, *other.pod)) continue;
        // Named ports are those of the pod that is reached.
        if (is_ingress())
          addresses.insert(other.address);
        else
          put("ip daddr " + other.address, ports_of(rule, other.pod));
      }
      // The API server has the same address: the port is part of who is meant.
      if (!is_ingress() && !input_.dns_address.empty() && is_peer(policy, peer, dns_pod()))
        put("ip daddr " + input_.dns_address, dns_ports(ports_of(rule, &dns_pod())));
    }
    if (!addresses.empty()) put("ip saddr " + braces(addresses), own);
  }

  bool is_peer(const NetworkPolicy& policy, const json::Value& peer,
               const model::Pod& other) const {
    const json::Value* namespaces = json::find(peer, "namespaceSelector");
    const json::Value* pods = json::find(peer, "podSelector");
    if (!namespaces && !pods) return false;
    if (!namespaces && other.metadata.ns != policy.metadata.ns) return false;
    if (namespaces) {
      auto found = input_.namespaces.find(other.metadata.ns);
      if (found == input_.namespaces.end() || !selected(*namespaces, found->second)) return false;
    }
    return !pods || selected(*pods, other.metadata.labels);
  }

  // Empty for a block without any pod or one that cannot be read: pods have IPv4 addresses alone,
  // and one word nft does not understand would put every policy out of force.
  std::optional<std::string> block_match(const json::Value& block) const {
    const std::string side = std::string("ip ") + direction_.side + " ";
    const std::string_view cidr = json::string_at(block, {"cidr"});
    if (!is_ipv4_block(cidr)) return std::nullopt;
    std::string match = side + std::string(cidr);
    if (const json::Array* list = json::array_at(block, {"except"}))
      for (const json::Value& one : *list) {
        if (!one.is_string() || !is_ipv4_block(json::sv(one.get_string()))) return std::nullopt;
        match += " " + side + "!= " + std::string(one.as_string());
      }
    return match;
  }

  void put(const std::string& match, const Ports& ports) {
    const std::string begin = "    " + match + (match.empty() ? "" : " ");
    if (ports.all) body_ += begin + "return\n";
    for (const std::string& port : matches_of(ports)) body_ += begin + port + " return\n";
  }

  const PolicyInput& input_;
  const model::Pod& pod_;
  const Direction& direction_;
  std::string body_;
};

std::string verdicts(const char* side, const std::map<std::string, std::string>& chains) {
  if (chains.empty()) return {};
  std::string out;
  for (const auto& [address, chain] : chains)
    out += (out.empty() ? "" : ", ") + address + " : jump " + chain;
  return std::string("    ip ") + side + " vmap { " + out + " }\n";
}

std::string base_chain(const char* hook, const std::string& body) {
  return std::string("  chain ") + hook + " {\n    type filter hook " + hook +
         " priority filter; policy accept;\n    ct state established,related return\n" + body +
         "  }\n";
}

}  // namespace

bool isolates(const NetworkPolicy& policy, const model::Pod& pod) {
  return applies(policy, pod, kIngress.type) || applies(policy, pod, kEgress.type);
}

std::string policy_rules(const PolicyInput& input) {
  std::map<std::string, std::string> sources, targets;  // address: chain
  std::string chains, own;
  for (const PolicyInput::Pod& pod : input.pods) {
    for (const Direction* direction : {&kIngress, &kEgress}) {
      std::optional<std::string> body = ChainWriter(input, *pod.pod, *direction).body();
      if (!body) continue;
      std::string name = std::string(direction->rules) + "_" + pod.address;
      std::ranges::replace(name, '.', '_');
      (direction == &kIngress ? targets : sources)[pod.address] = name;
      chains += "  chain " + name + " {\n" + *body + "  }\n";
    }
    // A pod always reaches itself, by its service too.
    if (sources.contains(pod.address) || targets.contains(pod.address))
      own += "    ip saddr " + pod.address + " ip daddr " + pod.address + " return\n";
  }
  // Naming the table before deleting it makes the first time like every other.
  std::string text = "table inet hekla_policy\ndelete table inet hekla_policy\n";
  if (chains.empty()) return text;
  return text + "table inet hekla_policy {\n" + chains +
         base_chain("forward", own + verdicts("saddr", sources) + verdicts("daddr", targets)) +
         // To the gateway: names and the API server.
         base_chain("input", verdicts("saddr", sources)) + "}\n";
}

}  // namespace hekla::agent
