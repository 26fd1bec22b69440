// v1 Endpoints and discovery.k8s.io EndpointSlice.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/rules.h"
#include "model/formats.h"

namespace hekla::apiserver {
namespace {

constexpr std::size_t kShown = 3;

std::string with_more(std::vector<std::string> all, std::string_view none) {
  if (all.empty()) return std::string(none);
  std::size_t total = all.size();
  if (total > kShown) all.resize(kShown);
  std::string text = join(all, ",");
  return total > kShown ? text + " + " + std::to_string(total - kShown) + " more..." : text;
}

std::string host_port(std::string_view ip, std::int64_t port) {
  std::string host(ip);
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return host + ":" + std::to_string(port);
}

std::string endpoints_cell(const json::Value& object) {
  std::vector<std::string> all;
  const json::Array* subsets = json::array_at(object, {"subsets"});
  if (subsets == nullptr || subsets->empty()) return "<none>";
  for (const json::Value& subset : *subsets) {
    const json::Array* addresses = json::array_at(subset, {"addresses"});
    const json::Array* ports = json::array_at(subset, {"ports"});
    if (addresses == nullptr) continue;
    if (ports == nullptr || ports->empty()) {
      for (const json::Value& address : *addresses)
        all.emplace_back(json::string_at(address, {"ip"}));
      continue;
    }
    for (const json::Value& port : *ports)
      for (const json::Value& address : *addresses)
        all.push_back(host_port(json::string_at(address, {"ip"}), json::int_at(port, {"port"})));
  }
  return with_more(std::move(all), "");
}

std::string slice_ports(const json::Value& slice) {
  std::vector<std::string> all;
  if (const json::Array* ports = json::array_at(slice, {"ports"}))
    for (const json::Value& port : *ports) {
      const json::Value* number = json::find(port, "port");
      std::string_view name = json::string_at(port, {"name"});
      all.push_back(number != nullptr && number->is_number() ? scalar_text(*number)
                    : name.empty()                           ? "*"
                                                             : std::string(name));
    }
  return with_more(std::move(all), "<unset>");
}

std::string slice_addresses(const json::Value& slice) {
  std::vector<std::string> all;
  if (const json::Array* endpoints = json::array_at(slice, {"endpoints"}))
    for (const json::Value& endpoint : *endpoints)
      if (const json::Array* addresses = json::array_at(endpoint, {"addresses"}))
        for (const json::Value& one : *addresses) all.push_back(scalar_text(one));
  return with_more(std::move(all), "<unset>");
}

std::vector<Cause> validate_endpoints(const json::Value& object) {
  Rules rules;
  Field subsets = Field(object, "")["subsets"];
  for (std::size_t i = 0; i < subsets.items().size(); ++i) {
    Field subset = subsets.at(i);
    if (subset["addresses"].items().empty() && subset["notReadyAddresses"].items().empty())
      rules.required(subset, "must specify `addresses` or `notReadyAddresses`");
    for (std::string_view list : {"addresses", "notReadyAddresses"})
      for (std::size_t a = 0; a < subset[list].items().size(); ++a)
        rules.ip(subset[list].at(a)["ip"]);
    bool named = subset["ports"].items().size() > 1;
    for (std::size_t p = 0; p < subset["ports"].items().size(); ++p) {
      Field port = subset["ports"].at(p);
      if (named || !port["name"].text().empty())
        if (rules.need_text(port["name"])) rules.dns_label(port["name"]);
      rules.port(port["port"]);
      rules.one_of(port["protocol"], {"SCTP", "TCP", "UDP"}, true);
    }
  }
  return std::move(rules.causes);
}

std::vector<Cause> validate_slice(const json::Value& object) {
  Rules rules;
  Field slice(object, "");
  std::string_view type = slice["addressType"].text();
  rules.one_of(slice["addressType"], {"FQDN", "IPv4", "IPv6"}, true);
  Field endpoints = slice["endpoints"];
  for (std::size_t i = 0; i < endpoints.items().size(); ++i) {
    Field addresses = endpoints.at(i)["addresses"];
    if (addresses.items().empty()) rules.required(addresses, "must contain at least 1 address");
    for (std::size_t a = 0; a < addresses.items().size(); ++a) {
      std::string_view text = addresses.at(a).text();
      if (type == "IPv4" && !model::is_ipv4(text))
        rules.invalid(addresses.at(a), "must be an IPv4 address");
      if (type == "IPv6" && !model::is_ipv6(text))
        rules.invalid(addresses.at(a), "must be an IPv6 address");
    }
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < slice["ports"].items().size(); ++i) {
    Field port = slice["ports"].at(i);
    if (!port["name"].text().empty()) rules.dns_label(port["name"]);
    rules.unique(names, port["name"]);
    rules.one_of(port["protocol"], {"SCTP", "TCP", "UDP"}, true);
  }
  return std::move(rules.causes);
}

void default_ports(json::Object& holder, bool named) {
  for (json::Value& port : list_in(holder, "ports")) {
    if (!port.is_object()) continue;
    set_default(port.get_object(), "protocol", "TCP");
    if (named && !port.get_object().contains("name")) port.get_object().emplace("name", "");
  }
}

void add_core_endpoint_kinds(Kinds& kinds) {
  Kind endpoints = builtin_kind("", "v1", "endpoints", "Endpoints", kCorePackage);
  endpoints.short_names = {"ep"};
  endpoints.traits.create_on_update = true;
  endpoints.traits.deprecation =
      "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
  endpoints.printing.columns = columns({"Endpoints", "Age"});
  endpoints.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(endpoints_cell(object)), json::Value(age(object, now))};
  };
  endpoints.rules.set_defaults = [](json::Value& object) {
    for (json::Value& subset : list_in(object.get_object(), "subsets"))
      if (subset.is_object()) default_ports(subset.get_object(), false);
  };
  endpoints.rules.validate = validate_endpoints;
  add(kinds, std::move(endpoints));

  Kind slice = builtin_kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice",
                            "io.k8s.api.discovery.v1");
  slice.traits.has_generation = true;
  slice.traits.generation_metadata = "labels";
  slice.printing.columns = columns({"AddressType", "Ports", "Endpoints", "Age"});
  slice.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(json::string_at(object, {"addressType"})), json::Value(slice_ports(object)),
            json::Value(slice_addresses(object)), json::Value(age(object, now))};
  };
  slice.rules.set_defaults = [](json::Value& object) { default_ports(object.get_object(), true); };
  slice.rules.validate = validate_slice;
  slice.rules.validate_update = [](const json::Value& object, const json::Value& old) {
    Rules rules;
    rules.immutable(Field(object, "")["addressType"], Field(old, "")["addressType"]);
    return std::move(rules.causes);
  };
  add(kinds, std::move(slice));
}

}  // namespace

extern const KindGroup kinds_core_endpoints;
const KindGroup kinds_core_endpoints{add_core_endpoint_kinds};

}  // namespace hekla::apiserver
