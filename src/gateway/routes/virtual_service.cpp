#include "gateway/routes/virtual_service.h"

#include <algorithm>
#include <array>
#include <span>

#include "gateway/request/visit.h"
#include "gateway/request/visitor_headers.h"
#include "model/time.h"
#include "net/text.h"

namespace hekla::gateway {
namespace {

constexpr std::size_t kMaxRules = 256, kMaxMatches = 64;

std::unexpected<Error> bad(const std::string& field, const std::string& why) {
  return fail(Code::invalid, field + ": " + why);
}

Result<TextMatch> text_match(const json::Value* value, const std::string& field, bool ignore_case) {
  TextMatch match;
  if (!value) return match;
  if (!value->is_object()) return bad(field, "must be an object");
  if (value->as_object().empty()) return match;
  match.ignore_case = ignore_case;
  if (const std::string_view text = json::string_at(*value, {"exact"}); !text.empty()) {
    match.kind = TextMatch::Kind::exact;
    match.text = text;
  } else if (const std::string_view prefix = json::string_at(*value, {"prefix"}); !prefix.empty()) {
    match.kind = TextMatch::Kind::prefix;
    match.text = prefix;
  } else if (const std::string_view regex = json::string_at(*value, {"regex"}); !regex.empty()) {
    match.kind = TextMatch::Kind::regex;
    match.text = regex;
    if (match.text == "*") return match.kind = TextMatch::Kind::any, match;
    Result<std::shared_ptr<const cel::Pattern>> pattern =
        cel::Pattern::compile("^(?:" + match.text + ")$");
    if (!pattern) return bad(field + ".regex", pattern.error().message);
    match.pattern = std::move(*pattern);
  } else {
    return bad(field, "must have one of exact, prefix and regex");
  }
  return match;
}

Result<std::vector<std::pair<std::string, TextMatch>>> named_matches(const json::Value& match,
                                                                     std::string_view member,
                                                                     const std::string& field) {
  std::vector<std::pair<std::string, TextMatch>> out;
  const json::Object* all = json::object_at(match, {member});
  for (std::size_t i = 0; all && i < all->size(); ++i) {
    const auto& one = *(all->begin() + static_cast<std::ptrdiff_t>(i));
    const std::string name(one.key());
    out.emplace_back(
        name, TRY(text_match(&one.value(), field + "." + std::string(member) + "." + name, false)));
  }
  return out;
}

Result<RequestMatch> request_match(const json::Value& value, const std::string& field) {
  if (!value.is_object()) return bad(field, "must be an object");
  // Each of these narrows a match: a route that does not look at them would take too much.
  for (std::string_view other : {"scheme", "port", "gateways", "sourceNamespace"})
    if (json::find(value, other)) return bad(field + "." + std::string(other), "is not supported");
  RequestMatch match;
  const bool ignore_case = json::bool_at(value, {"ignoreUriCase"});
  match.uri = TRY(text_match(json::find(value, "uri"), field + ".uri", ignore_case));
  match.method = TRY(text_match(json::find(value, "method"), field + ".method", false));
  match.authority = TRY(text_match(json::find(value, "authority"), field + ".authority", true));
  match.headers = TRY(named_matches(value, "headers", field));
  match.without_headers = TRY(named_matches(value, "withoutHeaders", field));
  match.query = TRY(named_matches(value, "queryParams", field));
  return match;
}

void read_pairs(const json::Value& value, std::initializer_list<std::string_view> at,
                std::vector<std::pair<std::string, std::string>>& out,
                std::vector<std::string>& remarks) {
  const json::Object* all = json::object_at(value, at);
  for (std::size_t i = 0; all && i < all->size(); ++i) {
    const auto& one = *(all->begin() + static_cast<std::ptrdiff_t>(i));
    const std::string name(one.key());
    const std::string text =
        one.value().is_string() ? std::string(json::sv(one.value().as_string())) : std::string();
    if (!may_be_set_by_routes(name) || !is_field_value(text))
      remarks.push_back("header " + name + " is not for routes to set");
    else
      out.emplace_back(name, text);
  }
}

HeaderChanges header_changes(const json::Value& value, std::string_view side,
                             std::vector<std::string>& remarks) {
  HeaderChanges changes;
  const json::Value* headers = json::find_path(value, {"headers", side});
  if (!headers) return changes;
  read_pairs(*headers, {"set"}, changes.set, remarks);
  read_pairs(*headers, {"add"}, changes.add, remarks);
  if (const json::Array* names = json::array_at(*headers, {"remove"}))
    for (const json::Value& name : *names)
      if (name.is_string()) changes.remove.emplace_back(json::sv(name.as_string()));
  return changes;
}

// "nb", "nb.a", "nb.a.svc.cluster.local".
kube::Key service_of(std::string_view host, const std::string& ns) {
  const std::string_view name = host.substr(0, host.find('.'));
  if (name.size() == host.size()) return {ns, std::string(name)};
  const std::string_view rest = host.substr(name.size() + 1);
  return {std::string(rest.substr(0, rest.find('.'))), std::string(name)};
}

Result<Destination> destination(const json::Value& route, const std::string& ns,
                                const std::string& field, std::vector<std::string>& remarks) {
  Destination made;
  const std::string_view host = json::string_at(route, {"destination", "host"});
  if (host.empty()) return bad(field + ".destination.host", "is required");
  if (json::find_path(route, {"destination", "subset"}))
    return bad(field + ".destination.subset", "is not supported");
  made.service = service_of(host, ns);
  const std::int64_t port = json::int_at(route, {"destination", "port", "number"});
  if (port < 0 || port > 65535) return bad(field + ".destination.port.number", "is no port");
  made.port = static_cast<std::uint16_t>(port);
  const std::int64_t weight = json::int_at(route, {"weight"}, -1);
  if (weight > 1'000'000) return bad(field + ".weight", "is too large");
  made.weight = static_cast<int>(weight);
  made.request = header_changes(route, "request", remarks);
  made.response = header_changes(route, "response", remarks);
  return made;
}

Result<void> read_destinations(const json::Value& http, Rule& rule, const std::string& field,
                               std::vector<std::string>& remarks) {
  const json::Array* routes = json::array_at(http, {"route"});
  for (std::size_t i = 0; routes && i < routes->size() && i < kMaxMatches; ++i)
    rule.destinations.push_back(TRY(destination(
        (*routes)[i], rule.object.ns, field + ".route[" + std::to_string(i) + "]", remarks)));
  // One without a weight has all of it; beside others it has none.
  for (Destination& one : rule.destinations)
    if (one.weight < 0) one.weight = rule.destinations.size() == 1 ? 100 : 0;
  return {};
}

Result<void> read_actions(const json::Value& http, Rule& rule, const std::string& field,
                          std::vector<std::string>& remarks) {
  if (json::find(http, "redirect")) {
    Redirect to{json::text_at(http, {"redirect", "uri"}),
                json::text_at(http, {"redirect", "authority"}),
                json::text_at(http, {"redirect", "scheme"}),
                static_cast<int>(json::int_at(http, {"redirect", "redirectCode"}, 301))};
    if (to.status < 300 || to.status > 308)
      return bad(field + ".redirect.redirectCode", "is no redirect");
    if (!is_field_value(to.uri) || !is_field_value(to.authority) || !is_field_value(to.scheme))
      return bad(field + ".redirect", "has a control character");
    rule.redirect = std::move(to);
  }
  const std::int64_t status = json::int_at(http, {"directResponse", "status"}, 200);
  if (status < 200 || status > 599) return bad(field + ".directResponse.status", "is no status");
  if (json::find(http, "directResponse"))
    rule.answer = DirectAnswer{static_cast<int>(status),
                               json::text_at(http, {"directResponse", "body", "string"})};
  if (const json::Value* rewrite = json::find(http, "rewrite")) {
    if (json::find(*rewrite, "uri")) rule.rewrite_uri = json::text_at(*rewrite, {"uri"});
    if (json::find(*rewrite, "authority"))
      rule.rewrite_authority = json::text_at(*rewrite, {"authority"});
    if (json::find(*rewrite, "uriRegexRewrite"))
      return bad(field + ".rewrite.uriRegexRewrite", "is not supported");
    const Result<Path> path = read_path(rule.rewrite_uri.value_or("/"));
    if (!path || path->has_query)
      return bad(field + ".rewrite.uri", path ? "must not have a query" : path.error().message);
    if (rule.rewrite_uri) rule.rewrite_uri = path->text;
    if (rule.rewrite_authority &&
        (rule.rewrite_authority->empty() || !is_field_value(*rule.rewrite_authority) ||
         rule.rewrite_authority->contains(' ')))
      return bad(field + ".rewrite.authority", "is no host");
  }
  if (const std::string text = json::text_at(http, {"timeout"}); !text.empty())
    rule.timeout = TRY(model::parse_go_duration(text));
  rule.request = header_changes(http, "request", remarks);
  rule.response = header_changes(http, "response", remarks);
  for (std::string_view ignored :
       {"mirror", "mirrors", "fault", "corsPolicy", "delegate", "retries"})
    if (json::find(http, ignored))
      remarks.push_back(field + "." + std::string(ignored) + " is not obeyed");
  return {};
}

// The start of every path that the expression matches; empty where nothing is sure.
std::string literal_start(std::string_view regex) {
  if (regex.contains('|')) return {};
  std::string start;
  if (regex.starts_with('^')) regex.remove_prefix(1);
  for (char c : regex) {
    if (c == '?' || c == '*' || c == '{') {  // of the character before
      if (!start.empty()) start.pop_back();
      return start;
    }
    if (std::string_view("\\^$.[]()+}").contains(c)) return start;
    start += c;
  }
  return start;
}

bool is_platforms(const std::string& ns) {
  static constexpr std::array<std::string_view, 4> kNamespaces{"kubeflow", "istio-system",
                                                               "hekla-system", "knative-serving"};
  return std::ranges::find(kNamespaces, ns) != kNamespaces.end();
}

// Why no user's namespace may have paths that begin so.
std::string trespass_of_prefix(const std::string& prefix, const std::string& ns) {
  for (std::string_view root : content_roots()) {
    if (root.starts_with(prefix)) return "claims " + prefix + ", which is every namespace's";
    if (prefix.starts_with(root) && !prefix.starts_with(std::string(root) + ns + "/"))
      return "claims " + prefix + ", which is not its namespace's";
  }
  return {};
}

}  // namespace

bool is_for_us(const framework::AnyObject& object) {
  const json::Array* gateways = json::array_at(object.spec, {"gateways"});
  if (!gateways) return false;
  return std::ranges::any_of(*gateways, [&](const json::Value& value) {
    if (!value.is_string()) return false;
    std::string name(json::sv(value.as_string()));
    if (!name.contains('/')) name = object.metadata.ns + "/" + name;
    return name == "kubeflow/kubeflow-gateway";
  });
}

Result<std::vector<Rule>> rules_of_virtual_service(const framework::AnyObject& object,
                                                   std::vector<std::string>& remarks) {
  std::vector<Rule> rules;
  Rule base;
  base.object = {object.metadata.ns, object.metadata.name};
  if (const json::Array* hosts = json::array_at(object.spec, {"hosts"}))
    for (const json::Value& host : *hosts)
      if (host.is_string()) base.hosts.emplace_back(json::sv(host.as_string()));
  if (base.hosts.empty()) return bad("spec.hosts", "is required");
  for (std::string_view other : {"tcp", "tls"})
    if (json::find(object.spec, other))
      remarks.push_back("spec." + std::string(other) + " is not supported");
  const json::Array* https = json::array_at(object.spec, {"http"});
  for (std::size_t i = 0; https && i < https->size(); ++i) {
    const std::string field = "spec.http[" + std::to_string(i) + "]";
    if (i >= kMaxRules) return bad(field, "is one too many");
    const json::Value& http = (*https)[i];
    Rule rule = base;
    const json::Array* matches = json::array_at(http, {"match"});
    for (std::size_t m = 0; matches && m < matches->size(); ++m) {
      const std::string at = field + ".match[" + std::to_string(m) + "]";
      if (m >= kMaxMatches) return bad(at, "is one too many");
      rule.matches.push_back(TRY(request_match((*matches)[m], at)));
    }
    TRY(read_actions(http, rule, field, remarks));
    TRY(read_destinations(http, rule, field, remarks));
    if (!rule.redirect && !rule.answer && rule.destinations.empty())
      return bad(field, "has neither a route nor a redirect nor a directResponse");
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::string trespass(const Rule& rule, const std::function<bool(std::string_view)>& owned) {
  const std::string& ns = rule.object.ns;
  const bool trusted = is_platforms(ns);
  for (const Destination& one : rule.destinations)
    if (!trusted && one.service.ns != ns)
      return "routes to service " + one.service.ns + "/" + one.service.name +
             " of another namespace";
  if (rule.matches.empty()) return "claims every path";
  for (const RequestMatch& match : rule.matches) {
    std::string prefix = match.uri.text;
    if (match.uri.kind == TextMatch::Kind::regex) prefix = literal_start(prefix);
    for (char& c : prefix) c = net::to_lower(c);  // with ignoreUriCase both are the same
    if (match.is_catch_all() || prefix.size() < 2) return "claims every path";
    if (owned(prefix)) return "claims " + prefix + ", which is the platform's";
    if (std::string why = trusted ? "" : trespass_of_prefix(prefix, ns); !why.empty()) return why;
  }
  return {};
}

}  // namespace hekla::gateway
