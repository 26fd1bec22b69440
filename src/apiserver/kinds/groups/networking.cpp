// networking.k8s.io/v1: NetworkPolicy, Ingress, IngressClass, ServiceCIDR, IPAddress.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/rules.h"
#include "apiserver/text/field_error.h"
#include "model/formats.h"
#include "model/names.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kGroup = "networking.k8s.io";
constexpr std::string_view kPackage = "io.k8s.api.networking.v1";

std::string hosts_cell(const json::Value& ingress) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> hosts;
  bool more = false;
  const json::Array* rules = json::array_at(ingress, {"spec", "rules"});
  if (rules != nullptr)
    for (const json::Value& rule : *rules) {
      if (hosts.size() == kShown) more = true;
      if (std::string_view host = json::string_at(rule, {"host"}); !more && !host.empty())
        hosts.emplace_back(host);
    }
  if (hosts.empty()) return "*";
  return more ? join(hosts, ",") + " + " + std::to_string(rules->size() - kShown) + " more..."
              : join(hosts, ",");
}

std::string address_cell(const json::Value& ingress) {
  std::set<std::string> addresses;
  if (const json::Array* list = json::array_at(ingress, {"status", "loadBalancer", "ingress"}))
    for (const json::Value& one : *list) {
      std::string address = text_or(one, {"ip"}, json::string_at(one, {"hostname"}));
      if (!address.empty()) addresses.insert(std::move(address));
    }
  return join({addresses.begin(), addresses.end()}, ",");
}

void validate_reference(const Field& reference, Rules& rules) {
  if (reference["apiGroup"].present()) rules.dns_subdomain(reference["apiGroup"]);
  for (std::string_view member : {"kind", "name"})
    if (rules.need_text(reference[member])) rules.path_segment(reference[member]);
}

void validate_backend(const Field& backend, Rules& rules) {
  const Field service = backend["service"];
  const bool resource = backend["resource"].present();
  if (service.present() && resource)
    return rules.invalid(backend, json::Value(""), "cannot set both resource and service backends");
  if (resource) return validate_reference(backend["resource"], rules);
  if (!service.present())
    return rules.invalid(backend, json::Value(""), "resource or service backend is required");
  if (rules.need_text(service["name"]))
    for (const std::string& why : model::dns1035_label_errors(service["name"].text()))
      rules.invalid(service["name"], why);
  const Field port = service["port"];
  const bool named = !port["name"].text().empty(), numbered = port["number"].number() != 0;
  if (named && numbered)
    rules.invalid(backend, json::Value(""), "cannot set both port name & port number");
  else if (named)
    rules.port_name(port["name"]);
  else if (numbered)
    rules.port(port["number"]);
  else
    rules.required(backend, "port name or number is required");
}

// A name, or one with a star for its first part.
void validate_host(const Field& host, Rules& rules) {
  std::string_view name = host.text();
  if (name.find('*') == std::string_view::npos) {
    rules.dns_subdomain(host);
    return;
  }
  const bool good = name.size() <= 253 && name.starts_with("*.") &&
                    model::dns1123_subdomain_errors(name.substr(2)).empty();
  if (!good)
    rules.invalid(host,
                  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS "
                  "subdomain, which must "
                  "consist of lower case alphanumeric characters, '-' or '.' and end with an "
                  "alphanumeric character "
                  "(e.g. '*.example.com', regex used for validation is "
                  "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
}

void validate_path(const Field& path, std::string_view type, Rules& rules) {
  const std::string_view text = path.text();
  const bool exact = type == "Exact" || type == "Prefix";
  if (!exact && type != "ImplementationSpecific") return;
  if ((exact || !text.empty()) && !text.starts_with('/'))
    rules.invalid(path, json::Value(text), "must be an absolute path");
  if (!exact) return;
  for (std::string_view part : {"//", "/./", "/../", "%2f", "%2F"})
    if (text.find(part) != std::string_view::npos)
      rules.invalid(path, "must not contain '" + std::string(part) + "'");
  for (std::string_view end : {"/..", "/."})
    if (text.ends_with(end)) rules.invalid(path, "cannot end with '" + std::string(end) + "'");
}

std::vector<Cause> validate_ingress(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  if (spec["rules"].items().empty() && !spec["defaultBackend"].present())
    rules.invalid(spec, spec["rules"].value(),
                  "either `defaultBackend` or `rules` must be specified");
  if (spec["defaultBackend"].present()) validate_backend(spec["defaultBackend"], rules);
  for (std::size_t i = 0; i < spec["rules"].items().size(); ++i) {
    const Field host = spec["rules"].at(i)["host"];
    if (model::is_ipv4(host.text()) || model::is_ipv6(host.text()))
      rules.invalid(host, "must be a DNS name, not an IP address");
    if (!host.text().empty()) validate_host(host, rules);
    Field paths = spec["rules"].at(i)["http"]["paths"];
    if (spec["rules"].at(i)["http"].present() && paths.items().empty()) rules.required(paths);
    for (std::size_t p = 0; p < paths.items().size(); ++p) {
      Field path = paths.at(p);
      if (!path["pathType"].present()) {
        rules.required(path["pathType"], "pathType must be specified");
        continue;
      }
      static const std::vector<std::string> kTypes{"Exact", "ImplementationSpecific", "Prefix"};
      const std::string_view type = path["pathType"].text();
      if (std::ranges::find(kTypes, type) == kTypes.end())
        rules.unsupported(path["pathType"], kTypes);
      validate_path(path["path"], type, rules);
      validate_backend(path["backend"], rules);
    }
  }
  for (std::size_t i = 0; i < spec["tls"].items().size(); ++i) {
    const Field tls = spec["tls"].at(i);
    for (std::size_t h = 0; h < tls["hosts"].items().size(); ++h)
      validate_host(tls["hosts"].at(h), rules);
    if (!tls["secretName"].text().empty()) rules.dns_subdomain(tls["secretName"]);
  }
  if (spec["ingressClassName"].present()) rules.dns_subdomain(spec["ingressClassName"]);
  return std::move(rules.causes);
}

// Later the two may go apart: the annotation is older than the member.
std::vector<Cause> validate_new_ingress(const json::Value& object) {
  constexpr std::string_view kClass = "kubernetes.io/ingress.class";
  Rules rules;
  const Field name = Field(object, "")["spec"]["ingressClassName"];
  const Field old = Field(object, "")["metadata"]["annotations"].key(kClass);
  if (old.present() && name.present() && old.text() != name.text())
    rules.invalid(Field(old.value(), "annotations." + std::string(kClass)),
                  "must match `ingressClassName` when both are specified");
  return std::move(rules.causes);
}

// "example.org/controller"
void validate_controller_name(const Field& controller, Rules& rules) {
  constexpr std::size_t kLongest = 250;
  const std::string_view text = controller.text();
  if (text.size() > kLongest) rules.causes.push_back(too_long(controller.path(), kLongest));
  if (!rules.need_text(controller)) return;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size())
    return rules.invalid(controller, "must be a domain-prefixed path (such as \"acme.io/foo\")");
  const std::string_view host = text.substr(0, slash), path = text.substr(slash + 1);
  for (const std::string& why : model::dns1123_subdomain_errors(host))
    rules.invalid(controller, json::Value(host), why);
  const bool good = std::ranges::all_of(path, [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("/-._~%!$&'()*+,;=:").find(c) != std::string_view::npos;
  });
  if (!good)
    rules.invalid(controller, json::Value(path),
                  "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
}

std::vector<Cause> validate_ingress_class(const json::Value& object) {
  Rules rules;
  const Field spec = Field(object, "")["spec"], parameters = spec["parameters"];
  validate_controller_name(spec["controller"], rules);
  if (!parameters.present()) return std::move(rules.causes);
  validate_reference(parameters, rules);
  const Field ns = parameters["namespace"];
  const std::string_view scope = parameters["scope"].text();
  if (scope == "Namespace" && !ns.present())
    rules.required(ns, "`parameters.scope` is set to 'Namespace'");
  else if (scope == "Namespace")
    rules.dns_label(ns);
  else if (scope != "Cluster")
    rules.unsupported(parameters["scope"], {"Cluster", "Namespace"});
  else if (ns.present())
    rules.forbidden(ns, "`parameters.scope` is set to 'Cluster'");
  return std::move(rules.causes);
}

struct AddressBlock {
  std::array<unsigned char, 16> bytes{};
  int bits = 0, family = 0;
};

// Of a text that is_cidr() admits.
AddressBlock read_block(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string address(text.substr(0, slash));
  AddressBlock block;
  block.family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  ::inet_pton(block.family, address.c_str(), block.bytes.data());
  block.bits = std::stoi(std::string(text.substr(slash + 1)));
  return block;
}

bool is_strict_subset(const AddressBlock& part, const AddressBlock& whole) {
  if (part.family != whole.family || part.bits <= whole.bits) return false;
  for (int bit = 0; bit < whole.bits; ++bit) {
    const unsigned mask = 0x80u >> (bit % 8);
    const auto at = static_cast<std::size_t>(bit / 8);
    if ((part.bytes[at] & mask) != (whole.bytes[at] & mask)) return false;
  }
  return true;
}

void validate_block(const Field& block, Rules& rules) {
  constexpr const char* kNoBlock =
      "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
  const std::string_view cidr = block["cidr"].text();
  if (cidr.empty()) return rules.required(block["cidr"]);
  if (!model::is_cidr(cidr)) return rules.invalid(block["cidr"], json::Value(cidr), kNoBlock);
  for (std::size_t i = 0; i < block["except"].items().size(); ++i) {
    Field except = block["except"].at(i);
    if (!model::is_cidr(except.text()))
      rules.invalid(except, json::Value(except.text()), kNoBlock);
    else if (!is_strict_subset(read_block(except.text()), read_block(cidr)))
      rules.invalid(except, json::Value(except.text()), "must be a strict subset of `cidr`");
  }
}

void validate_peer(const Field& peer, Rules& rules) {
  Field block = peer["ipBlock"];
  if (peer["podSelector"].present()) rules.selector(peer["podSelector"]);
  if (peer["namespaceSelector"].present()) rules.selector(peer["namespaceSelector"]);
  if (block.present()) validate_block(block, rules);
  int given = peer["podSelector"].present() + peer["namespaceSelector"].present() + block.present();
  if (given == 0) rules.required(peer, "must specify a peer");
  if (block.present() && given > 1)
    rules.forbidden(peer, "may not specify both ipBlock and another peer");
}

void validate_policy_rules(const Field& list, std::string_view peers, Rules& rules) {
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    Field rule = list.at(i);
    for (std::size_t p = 0; p < rule["ports"].items().size(); ++p) {
      Field port = rule["ports"].at(p);
      rules.one_of(port["protocol"], {"TCP", "UDP", "SCTP"});
      const Field first = port["port"], last = port["endPort"];
      if (last.present() && first.value().is_string())
        rules.invalid(last, "may not be specified when `port` is non-numeric");
      if (first.present()) rules.port_or_name(first);
      if (!last.present() || first.value().is_string()) continue;
      if (!first.present()) {
        rules.invalid(last, "may not be specified when `port` is not specified");
        continue;
      }
      if (last.number() < first.number())
        rules.invalid(last, first.value(), "must be greater than or equal to `port`");
      rules.port(last);
    }
    for (std::size_t p = 0; p < rule[peers].items().size(); ++p)
      validate_peer(rule[peers].at(p), rules);
  }
}

std::vector<Cause> validate_policy(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  rules.selector(spec["podSelector"]);
  validate_policy_rules(spec["ingress"], "from", rules);
  validate_policy_rules(spec["egress"], "to", rules);
  const Field types = spec["policyTypes"];
  if (types.items().size() > 2) {
    rules.invalid(types, "may not specify more than two policyTypes");
    return std::move(rules.causes);
  }
  for (std::size_t i = 0; i < types.items().size(); ++i)
    if (types.at(i).text() != "Ingress" && types.at(i).text() != "Egress")
      rules.unsupported(types.at(i), {"Ingress", "Egress"});
  return std::move(rules.causes);
}

void default_policy(json::Value& object) {
  json::Object& spec = object_in_place(object.get_object(), "spec");
  for (std::string_view direction : {"ingress", "egress"})
    for (json::Value& rule : list_in(spec, direction))
      if (rule.is_object())
        for (json::Value& port : list_in(rule.get_object(), "ports"))
          if (port.is_object()) set_default(port.get_object(), "protocol", "TCP");
  if (!list_in(spec, "policyTypes").empty()) return;
  json::Array types{json::Value("Ingress")};
  if (!list_in(spec, "egress").empty()) types.emplace_back("Egress");
  spec["policyTypes"] = std::move(types);
}

Kind ingress_kind() {
  Kind kind = builtin_kind(kGroup, "v1", "ingresses", "Ingress", kPackage);
  kind.short_names = {"ing"};
  kind.traits.has_status = true;
  kind.traits.has_generation = true;
  kind.printing.columns = columns({"Class", "Hosts", "Address", "Ports", "Age"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(text_or(object, {"spec", "ingressClassName"}, "<none>")),
            json::Value(hosts_cell(object)), json::Value(address_cell(object)),
            json::Value(count(object, {"spec", "tls"}) > 0 ? "80, 443" : "80"),
            json::Value(age(object, now))};
  };
  kind.rules.validate = validate_ingress;
  kind.rules.validate_create = validate_new_ingress;
  return kind;
}

Kind ingress_class_kind() {
  Kind kind = cluster_kind(kGroup, "v1", "ingressclasses", "IngressClass", kPackage);
  kind.traits.has_generation = true;
  kind.printing.columns = columns({"Controller", "Parameters", "Age"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    std::string parameters = "<none>";
    if (json::object_at(object, {"spec", "parameters"}) != nullptr) {
      parameters = json::string_at(object, {"spec", "parameters", "kind"});
      if (std::string_view group = json::string_at(object, {"spec", "parameters", "apiGroup"});
          !group.empty())
        parameters += "." + std::string(group);
      parameters += "/" + std::string(json::string_at(object, {"spec", "parameters", "name"}));
    }
    return {json::Value(json::string_at(object, {"spec", "controller"})), json::Value(parameters),
            json::Value(age(object, now))};
  };
  kind.rules.set_defaults = [](json::Value& object) {
    json::Value* spec = object.get_object().if_contains("spec");
    if (spec == nullptr || !spec->is_object()) return;
    if (json::Value* parameters = spec->get_object().if_contains("parameters");
        parameters && parameters->is_object())
      set_default(parameters->get_object(), "scope", "Cluster");
  };
  kind.rules.validate = validate_ingress_class;
  kind.rules.validate_update = [](const json::Value& object, const json::Value& old) {
    Rules rules;
    rules.immutable(Field(object, "")["spec"]["controller"], Field(old, "")["spec"]["controller"]);
    return std::move(rules.causes);
  };
  return kind;
}

std::vector<Cause> validate_address(const json::Value& object) {
  Rules rules;
  Field parent = Field(object, "")["spec"]["parentRef"];
  if (!parent.present()) {
    rules.required(parent);
    return std::move(rules.causes);
  }
  if (!parent["group"].text().empty()) rules.dns_subdomain(parent["group"]);
  for (std::string_view member : {"resource", "name"}) rules.need_text(parent[member]);
  for (std::string_view member : {"resource", "name", "namespace"})
    rules.path_segment(parent[member]);
  return std::move(rules.causes);
}

void add_networking_kinds(Kinds& kinds) {
  add(kinds, ingress_kind());
  add(kinds, ingress_class_kind());

  Kind policy = builtin_kind(kGroup, "v1", "networkpolicies", "NetworkPolicy", kPackage);
  policy.short_names = {"netpol"};
  policy.traits.has_generation = true;
  policy.printing.columns = columns({"Pod-Selector", "Age"});
  policy.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(selector_text(json::find_path(object, {"spec", "podSelector"}))),
            json::Value(age(object, now))};
  };
  policy.rules.set_defaults = default_policy;
  policy.rules.validate = validate_policy;
  add(kinds, std::move(policy));

  Kind cidr = cluster_kind(kGroup, "v1", "servicecidrs", "ServiceCIDR", kPackage);
  cidr.traits.has_status = true;
  cidr.printing.columns = columns({"CIDRs", "Age"});
  cidr.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    std::vector<std::string> all;
    if (const json::Array* list = json::array_at(object, {"spec", "cidrs"}))
      for (const json::Value& one : *list) all.push_back(scalar_text(one));
    return {json::Value(join(all, ",")), json::Value(age(object, now))};
  };
  add(kinds, std::move(cidr));

  Kind address = cluster_kind(kGroup, "v1", "ipaddresses", "IPAddress", kPackage);
  address.short_names = {"ip"};
  address.traits.name_rule = NameRule::ip_address;
  address.rules.validate = validate_address;
  address.rules.validate_update = [](const json::Value& object, const json::Value& old) {
    Rules rules;
    rules.immutable(Field(object, "")["spec"]["parentRef"], Field(old, "")["spec"]["parentRef"]);
    return std::move(rules.causes);
  };
  address.printing.columns = columns({"ParentRef"});
  address.printing.cells = [](const json::Value& object, WallTime) -> json::Array {
    const auto part = [&](std::string_view member) {
      return std::string(json::string_at(object, {"spec", "parentRef", member}));
    };
    std::string parent = part("resource");
    if (!part("group").empty()) parent += "." + part("group");
    if (!part("namespace").empty()) parent += "/" + part("namespace");
    return {json::Value(parent.empty() ? "<none>" : parent + "/" + part("name"))};
  };
  add(kinds, std::move(address));
}

}  // namespace

extern const KindGroup kinds_networking;
const KindGroup kinds_networking{add_networking_kinds};

}  // namespace hekla::apiserver
