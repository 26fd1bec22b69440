#include "apiserver/write/service_addresses.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>

#include "apiserver/kinds/rules/service_rules.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/object_header.h"
#include "apiserver/object/storage.h"
#include "apiserver/text/field_error.h"

namespace hekla::apiserver {

namespace {

constexpr std::chrono::seconds kClaimLasts{2};
constexpr std::int64_t kFirstNodePort = 30000, kLastNodePort = 32767;

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  std::uint32_t address = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned part = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
    if (error != std::errc() || part > 255) return std::nullopt;
    address = address << 8 | part;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (i < 3) {
      if (!text.starts_with('.')) return std::nullopt;
      text.remove_prefix(1);
    }
  }
  return text.empty() ? std::optional(address) : std::nullopt;
}

std::string format_ipv4(std::uint32_t address) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8)
    text += std::to_string(address >> shift & 255) + (shift ? "." : "");
  return text;
}

bool wants_node_ports(const json::Value& service) {
  std::string_view type = json::string_at(service, {"spec", "type"});
  if (type == "LoadBalancer")
    return json::bool_at(service, {"spec", "allocateLoadBalancerNodePorts"}, true);
  return type == "NodePort";
}

bool wants_health_port(const json::Value& service) {
  const json::Value* spec = json::find(service, "spec");
  return spec && needs_health_check(*spec);
}

// A PUT without the allocated values means those the service has.
void keep_allocated(json::Value& service, const json::Value& old) {
  const bool had_address = json::string_at(old, {"spec", "type"}) != "ExternalName";
  if (!had_address || json::string_at(service, {"spec", "type"}) == "ExternalName") return;
  json::Object& spec = json::at_path(service, {"spec"}).get_object();
  for (std::string_view member : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
    const json::Value* now = json::find(spec, member);
    const bool unset = !now || now->is_null() || (now->is_string() && now->get_string().empty());
    const json::Value* before = json::find_path(old, {"spec", member});
    if (unset && before) spec[member] = *before;
  }
}

using ServicePort = std::pair<std::int64_t, std::string>;  // number and protocol

ServicePort service_port(const json::Value& port) {
  return {json::int_at(port, {"port"}), json::text_at(port, {"protocol"})};
}

std::map<ServicePort, std::int64_t> node_ports_of(const json::Value* service) {
  std::map<ServicePort, std::int64_t> all;
  const json::Array* ports = service ? json::array_at(*service, {"spec", "ports"}) : nullptr;
  if (ports)
    for (const json::Value& one : *ports)
      all.emplace(service_port(one), json::int_at(one, {"nodePort"}));
  return all;
}

std::int64_t pick_port(std::set<std::int64_t>& taken, Rng& rng) {
  const std::int64_t span = kLastNodePort - kFirstNodePort + 1;
  const auto start = static_cast<std::int64_t>(uniform(rng, static_cast<std::uint64_t>(span)));
  for (std::int64_t i = 0; i < span; ++i) {
    std::int64_t port = kFirstNodePort + (start + i) % span;
    if (taken.insert(port).second) return port;
  }
  return 0;
}

std::vector<Cause> assign_ports(json::Value& service, const json::Value* old,
                                std::set<std::int64_t>& taken, Rng& rng) {
  std::vector<Cause> causes;
  json::Value& ports = json::at_path(service, {"spec", "ports"});
  if (!ports.is_array()) return causes;
  std::size_t index = 0;
  const std::map<ServicePort, std::int64_t> allocated = node_ports_of(old);
  for (json::Value& port : ports.get_array()) {
    const std::string path = "spec.ports[" + std::to_string(index++) + "].nodePort";
    if (!port.is_object()) continue;
    const auto known = allocated.find(service_port(port));
    const std::int64_t before = known == allocated.end() ? 0 : known->second;
    std::int64_t wanted = json::int_at(port, {"nodePort"});
    if (wanted == 0) wanted = before != 0 ? before : pick_port(taken, rng);
    if (wanted == 0) {
      causes.push_back(
          invalid_value(path, json::Value(0), "failed to allocate a nodePort: range is full"));
      return causes;
    }
    if (wanted != before) {
      if (json::int_at(port, {"nodePort"}) != 0 && !taken.insert(wanted).second)
        causes.push_back(
            invalid_value(path, json::Value(wanted), "provided port is already allocated"));
      if (wanted < kFirstNodePort || wanted > kLastNodePort)
        causes.push_back(
            invalid_value(path, json::Value(wanted),
                          "provided port is not in the valid range. The range of valid "
                          "ports is 30000-32767"));
    }
    port.get_object()["nodePort"] = wanted;
  }
  return causes;
}

std::vector<Cause> assign_health_port(json::Value& service, const json::Value* old,
                                      std::set<std::int64_t>& taken, Rng& rng) {
  const std::int64_t before =
      old && wants_health_port(*old) ? json::int_at(*old, {"spec", "healthCheckNodePort"}) : 0;
  const std::int64_t asked = json::int_at(service, {"spec", "healthCheckNodePort"});
  if (asked == 0)
    json::at_path(service, {"spec", "healthCheckNodePort"}) =
        before != 0 ? before : pick_port(taken, rng);
  else if (asked != before && !taken.insert(asked).second)
    return {invalid_value("spec.healthCheckNodePort", json::Value(asked),
                          "provided port is already allocated")};
  return {};
}

bool same_member(const json::Value& a, const json::Value& b, std::string_view member) {
  static const json::Value kNone;
  const json::Value *x = json::find_path(a, {"spec", member}),
                    *y = json::find_path(b, {"spec", member});
  return json::equal(x ? *x : kNone, y ? *y : kNone);
}

// The range is one of IPv4 addresses. A headless service that nobody's pods are behind may name
// what families it likes.
std::vector<Cause> check_families(const json::Value& service, const json::Value* old) {
  if (old && same_member(service, *old, "ipFamilies") &&
      same_member(service, *old, "ipFamilyPolicy"))
    return {};
  const json::Object* selector = json::object_at(service, {"spec", "selector"});
  if (json::string_at(service, {"spec", "clusterIP"}) == "None" && (!selector || selector->empty()))
    return {};
  const json::Array* families = json::array_at(service, {"spec", "ipFamilies"});
  const std::string_view policy = json::string_at(service, {"spec", "ipFamilyPolicy"});
  if (families && families->size() > 1 && (policy.empty() || policy == "SingleStack"))
    return {invalid_value(
        "spec.ipFamilyPolicy", json::Value("SingleStack"),
        "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified")};
  std::vector<Cause> causes;
  if (policy == "RequireDualStack")
    causes.push_back(invalid_value("spec.ipFamilyPolicy", json::Value(policy),
                                   "this cluster is not configured for dual-stack services"));
  for (std::size_t i = 0; families && i < families->size(); ++i)
    if (const json::Value& family = (*families)[i];
        family.is_string() && family.get_string() == "IPv6")
      causes.push_back(invalid_value("spec.ipFamilies[" + std::to_string(i) + "]", family,
                                     "not configured on this cluster"));
  return causes;
}

}  // namespace

Result<std::unique_ptr<ServiceAddresses>> ServiceAddresses::make(const std::string& cidr) {
  std::size_t slash = cidr.find('/');
  std::optional<std::uint32_t> base = parse_ipv4(std::string_view(cidr).substr(0, slash));
  unsigned bits = 0;
  if (slash != std::string::npos)
    std::from_chars(cidr.data() + slash + 1, cidr.data() + cidr.size(), bits);
  if (!base || bits < 8 || bits > 28)
    return fail(Code::invalid, "the service range " + cidr + " is not an IPv4 range of /8 to /28");
  const std::uint32_t size = std::uint32_t{1} << (32 - bits);
  return std::make_unique<ServiceAddresses>(*base & ~(size - 1), size);
}

std::string ServiceAddresses::first() const { return format_ipv4(base_ + 1); }

ServiceAddresses::Taken ServiceAddresses::taken(const ServedKind& services,
                                                const store::Snapshot& snapshot, bool ports) const {
  Taken found;
  snapshot.scan(services.bucket, "", "", [&](const store::ItemPtr& item) {
    const ObjectHeader& header = header_of(*item);
    const std::string* type = header.field("spec.type");
    const std::string* address = header.field("spec.clusterIP");
    if (address && *address != "None") found.addresses.insert(*address);
    const bool has_ports = !type || *type == "NodePort" || *type == "LoadBalancer";
    if (ports && has_ports) {
      json::Value service = decode_object(services, *item);
      if (const json::Array* list = json::array_at(service, {"spec", "ports"}))
        for (const json::Value& one : *list)
          found.node_ports.insert(json::int_at(one, {"nodePort"}));
      found.node_ports.insert(json::int_at(service, {"spec", "healthCheckNodePort"}));
    }
    return true;
  });
  return found;
}

void ServiceAddresses::add_claims(Taken& taken, const std::string& owner, WallTime now) const {
  std::lock_guard lock(mutex_);
  std::erase_if(claims_, [&](const Claim& one) { return now - one.at > kClaimLasts; });
  for (const Claim& one : claims_) {
    if (one.owner == owner) continue;
    taken.addresses.insert(one.address);
    taken.node_ports.insert(one.node_ports.begin(), one.node_ports.end());
  }
}

void ServiceAddresses::claim(const json::Value& service, const std::string& owner,
                             WallTime now) const {
  Claim made{owner, std::string(json::string_at(service, {"spec", "clusterIP"})), {}, now};
  if (const json::Array* ports = json::array_at(service, {"spec", "ports"}))
    for (const json::Value& one : *ports)
      if (const std::int64_t port = json::int_at(one, {"nodePort"}); port != 0)
        made.node_ports.push_back(port);
  if (const std::int64_t port = json::int_at(service, {"spec", "healthCheckNodePort"}); port != 0)
    made.node_ports.push_back(port);
  std::lock_guard lock(mutex_);
  std::erase_if(claims_, [&](const Claim& one) { return one.owner == owner; });
  claims_.push_back(std::move(made));
}

std::string ServiceAddresses::pick_address(const Taken& taken, std::uint32_t start) const {
  for (std::uint32_t i = 0; i < size_; ++i) {
    const std::uint32_t offset = (start + i) % size_;
    if (offset < 2 || offset == size_ - 1) continue;
    std::string address = format_ipv4(base_ + offset);
    if (!taken.addresses.contains(address)) return address;
  }
  return {};
}

std::vector<Cause> ServiceAddresses::assign_address(json::Value& service, const Taken& taken,
                                                    const Asker& asker) const {
  std::string wanted(json::string_at(service, {"spec", "clusterIP"}));
  if (wanted.empty()) {
    // Drawn in any case, so that what is drawn after it is the same each time.
    const auto start = static_cast<std::uint32_t>(uniform(asker.rng, size_));
    if (asker.chosen.empty() || taken.addresses.contains(asker.chosen))
      asker.chosen = pick_address(taken, start);
    wanted = asker.chosen;
    if (wanted.empty())
      return {invalid_value("spec.clusterIPs", json::Value(json::Array()),
                            "failed to allocate a serviceIP: range is full")};
  } else if (wanted != "None") {
    std::optional<std::uint32_t> address = parse_ipv4(wanted);
    const json::Value given(json::Array{json::Value(wanted)});
    if (!address || *address <= base_ || *address - base_ >= size_)
      return {invalid_value("spec.clusterIPs", given,
                            "failed to allocate IP " + wanted + ": the provided IP (" + wanted +
                                ") is not in the valid range. The range of valid IPs is " +
                                format_ipv4(base_) + "/" +
                                std::to_string(32 - std::countr_zero(size_)))};
    if (taken.addresses.contains(wanted))
      return {
          invalid_value("spec.clusterIPs", given,
                        "failed to allocate IP " + wanted + ": provided IP is already allocated")};
  }
  json::Object& spec = json::at_path(service, {"spec"}).get_object();
  spec["clusterIP"] = wanted;
  spec["clusterIPs"] = json::Array{json::Value(wanted)};
  if (!spec.contains("ipFamilies")) spec["ipFamilies"] = json::Array{json::Value("IPv4")};
  if (!spec.contains("ipFamilyPolicy")) spec["ipFamilyPolicy"] = "SingleStack";
  return {};
}

std::vector<Cause> ServiceAddresses::assign(json::Value& service, const json::Value* old,
                                            const ServedKind& services,
                                            const store::Snapshot& snapshot,
                                            const Asker& asker) const {
  if (!json::object_at(service, {"spec"})) return {};
  if (json::string_at(service, {"spec", "type"}) == "ExternalName") return {};
  if (old) keep_allocated(service, *old);
  if (std::vector<Cause> causes = check_families(service, old); !causes.empty()) return causes;
  const bool ports = wants_node_ports(service);
  const bool needs_address = !old ||
                             json::string_at(*old, {"spec", "clusterIP"}) !=
                                 json::string_at(service, {"spec", "clusterIP"}) ||
                             json::string_at(service, {"spec", "clusterIP"}).empty();
  const bool health = wants_health_port(service);
  if (!needs_address && !ports && !health) return {};
  Taken in_use = taken(services, snapshot, ports || health);
  std::string owner(meta_string(service, "namespace"));
  owner.append("/").append(meta_string(service, "name"));
  add_claims(in_use, owner, asker.now);
  std::vector<Cause> causes;
  if (needs_address) causes = assign_address(service, in_use, asker);
  if (ports) {
    std::vector<Cause> more = assign_ports(service, old, in_use.node_ports, asker.rng);
    causes.insert(causes.end(), more.begin(), more.end());
  }
  if (health) {
    std::vector<Cause> more = assign_health_port(service, old, in_use.node_ports, asker.rng);
    causes.insert(causes.end(), more.begin(), more.end());
  }
  if (causes.empty() && !asker.dry_run) claim(service, owner, asker.now);
  return causes;
}

}  // namespace hekla::apiserver
