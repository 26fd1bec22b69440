#include "gateway/routes/route_table.h"

#include <arpa/inet.h>

#include "gateway/request/visit.h"
#include "gateway/routes/virtual_service.h"

namespace hekla::gateway {
namespace {

const kube::Resource kNotebooks{"kubeflow.org", "v1", "notebooks", "Notebook"};

// Neither this machine itself nor what only a link knows, whatever an EndpointSlice says.
bool may_be_dialled(const std::string& address) {
  in_addr parsed{};
  if (inet_pton(AF_INET, address.c_str(), &parsed) != 1) return false;
  const std::uint32_t bits = ntohl(parsed.s_addr);
  return bits >> 24 != 127 && bits >> 24 != 0 && bits >> 16 != 0xa9fe && bits >> 28 < 0xe;
}

const json::Array* list_at(const framework::AnyObject& slice, std::string_view member) {
  const json::Value* value = json::find(slice.rest, member);
  return value ? value->if_array() : nullptr;
}

// The name by which the slices know a port of the Service.
std::optional<std::string> port_name(const framework::AnyObject& service, std::uint16_t port) {
  const json::Array* ports = json::array_at(service.spec, {"ports"});
  if (!ports || ports->empty()) return std::nullopt;
  if (port == 0)
    return ports->size() == 1 ? std::optional(json::text_at(ports->front(), {"name"}))
                              : std::nullopt;
  for (const json::Value& one : *ports)
    if (json::int_at(one, {"port"}) == port) return json::text_at(one, {"name"});
  return std::nullopt;
}

void add_ready(const framework::AnyObject& slice, const std::string& name,
               std::vector<Backend>& out) {
  const json::Array *ports = list_at(slice, "ports"), *endpoints = list_at(slice, "endpoints");
  std::int64_t number = 0;
  for (std::size_t i = 0; ports && i < ports->size(); ++i)
    if (json::string_at((*ports)[i], {"name"}) == name)
      number = json::int_at((*ports)[i], {"port"});
  if (!endpoints || number < 1 || number > 65535) return;
  for (const json::Value& endpoint : *endpoints) {
    if (!json::bool_at(endpoint, {"conditions", "ready"}, true)) continue;
    const json::Array* addresses = json::array_at(endpoint, {"addresses"});
    if (!addresses || addresses->empty() || !addresses->front().is_string()) continue;
    std::string address(json::sv(addresses->front().as_string()));
    if (may_be_dialled(address))
      out.push_back({std::move(address), static_cast<std::uint16_t>(number)});
  }
}

}  // namespace

std::vector<Backend> ready_backends(const framework::AnyObject& service,
                                    const std::vector<framework::AnyRef>& slices,
                                    std::uint16_t port) {
  std::vector<Backend> found;
  // A name outside the cluster is nowhere that the gateway goes.
  if (json::string_at(service.spec, {"type"}) == "ExternalName") return found;
  const std::optional<std::string> name = port_name(service, port);
  if (!name) return found;
  for (const framework::AnyRef& slice : slices) add_ready(*slice, *name, found);
  return found;
}

kube::Access access_to(const Rule& rule, const Destination* destination, const Path& path) {
  if (!destination) return {"get", kVirtualServices, rule.object};
  const std::string ns(segment(path.text, 1)), name(segment(path.text, 2));
  if (path.text.starts_with("/notebook/") && destination->service.ns == ns && !name.empty())
    return {"get", kNotebooks, {ns, name}};
  return {"get", kube::resources::services, destination->service};
}

RouteTable::Found RouteTable::find(const net::Request& request, const Path& path) const {
  for (const Rules& rules : rules_)
    for (const Rule& rule : *rules)
      if (const RequestMatch* match = match_of(rule, request, path)) return {&rule, match};
  return {};
}

bool RouteTable::lacks_slash(const net::Request& request, const Path& path) const {
  if (path.text.ends_with('/') || find(request, path).rule) return false;
  Path longer = path;
  longer.text += '/';
  const Found found = find(request, longer);
  return found.match && found.match->uri.kind == TextMatch::Kind::prefix &&
         found.match->uri.text.size() == longer.text.size();
}

std::optional<Backend> RouteTable::backend(const Destination& destination,
                                           std::uint64_t random) const {
  const auto at = backends_.find({destination.service, destination.port});
  if (at == backends_.end() || at->second.empty()) return std::nullopt;
  return at->second[random % at->second.size()];
}

std::vector<RouteTable::NotebookServer> RouteTable::notebook_servers() const {
  std::vector<NotebookServer> found;
  for (const Rules& rules : rules_)
    for (const Rule& rule : *rules)
      for (const RequestMatch& match : rule.matches) {
        const std::string& prefix = match.uri.text;
        if (match.uri.kind != TextMatch::Kind::prefix || rule.destinations.empty() ||
            rule.rewrite_uri.value_or(prefix) != prefix || !prefix.ends_with('/'))
          continue;
        Path path;
        path.text = prefix;
        const Destination& to = rule.destinations.front();
        const kube::Access access = access_to(rule, &to, path);
        if (access.resource != kNotebooks) continue;
        if (const std::optional<Backend> at = backend(to, 0))
          found.push_back({access.key, prefix, *at});
      }
  return found;
}

const Policies& RouteTable::policies(const kube::Key& service) const {
  static const Policies kNone;
  const auto at = policies_.find(service);
  return at == policies_.end() ? kNone : at->second;
}

}  // namespace hekla::gateway
