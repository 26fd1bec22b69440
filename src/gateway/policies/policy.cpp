#include "gateway/policies/policy.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "net/text.h"

namespace hekla::gateway {
namespace {

constexpr std::string_view kHeaders = "request.headers[";
constexpr std::string_view kServiceAccount = "system:serviceaccount:";
constexpr const char* kTrustDomain = "cluster.local/ns/";
constexpr std::size_t kMaxPolicyRules = 256;

struct Field {
  std::string_view name, attribute;
};
constexpr std::array<Field, 3> kSourceFields{{{"principals", "source.principal"},
                                              {"namespaces", "source.namespace"},
                                              {"requestPrincipals", "request.auth.principal"}}};
constexpr std::array<Field, 4> kOperationFields{{{"hosts", "request.host"},
                                                 {"paths", "request.path"},
                                                 {"methods", "request.method"},
                                                 {"ports", "destination.port"}}};

std::unexpected<Error> wrong(const std::string& field, const std::string& why) {
  return fail(Code::invalid, field + ": " + why);
}

// "ns-*", "*/api", "*" and the text itself.
bool value_matches(std::string_view pattern, std::string_view value) {
  if (pattern == "*") return !value.empty();
  if (pattern.starts_with('*')) return value.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return value.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == value;
}

bool any_matches(const std::vector<std::string>& patterns, const std::vector<std::string>& values) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return std::ranges::any_of(
        values, [&](const std::string& value) { return value_matches(pattern, value); });
  });
}

bool all_hold(const PolicyTests& tests, const PolicyFacts& facts) {
  return std::ranges::all_of(tests, [&](const PolicyTest& test) {
    const std::vector<std::string>& values = facts.of(test.attribute);
    return (test.values.empty() || any_matches(test.values, values)) &&
           !any_matches(test.not_values, values);
  });
}

Result<std::vector<std::string>> texts(const json::Value& value, const std::string& field) {
  std::vector<std::string> out;
  if (!value.is_array()) return wrong(field, "must be a list");
  for (const json::Value& one : value.as_array()) {
    if (!one.is_string()) return wrong(field, "must be a list of texts");
    out.emplace_back(json::sv(one.as_string()));
    if (out.back().contains('{')) return wrong(field, "path templates are not supported");
  }
  return out;
}

// "notPaths" of "paths".
std::string negated(std::string_view name) {
  std::string out = "not" + std::string(name);
  out[3] = static_cast<char>(out[3] - 'a' + 'A');
  return out;
}

Result<PolicyTests> read_tests(const json::Value& value, std::span<const Field> fields,
                               const std::string& at) {
  PolicyTests tests;
  if (!value.is_object()) return wrong(at, "must be an object");
  for (const auto& member : value.as_object()) {
    const std::string_view name = member.key();
    const std::string field = at + "." + std::string(name);
    const auto known = std::ranges::find_if(
        fields, [&](const Field& one) { return one.name == name || negated(one.name) == name; });
    if (known == fields.end()) return wrong(field, "is not supported");
    PolicyTest test{std::string(known->attribute), {}, {}};
    (known->name == name ? test.values : test.not_values) = TRY(texts(member.value(), field));
    tests.push_back(std::move(test));
  }
  return tests;
}

Result<std::vector<PolicyTests>> read_list(const json::Value& rule, std::string_view list,
                                           std::string_view member, std::span<const Field> fields,
                                           const std::string& at) {
  std::vector<PolicyTests> out;
  const json::Array* all = json::array_at(rule, {list});
  for (std::size_t i = 0; all && i < all->size(); ++i) {
    const std::string field = at + "." + std::string(list) + "[" + std::to_string(i) + "]";
    const json::Value* one = json::find((*all)[i], member);
    if (!one) return wrong(field + "." + std::string(member), "is required");
    out.push_back(TRY(read_tests(*one, fields, field + "." + std::string(member))));
  }
  return out;
}

std::optional<std::string> attribute_of(std::string_view key) {
  if (key.starts_with(kHeaders) && key.ends_with(']')) {
    std::string name(key);
    std::ranges::transform(name, name.begin(), net::to_lower);
    return name;
  }
  static constexpr std::array<std::string_view, 6> kKnown{
      "source.principal",           "source.namespace", "request.auth.principal",
      "request.auth.claims[email]", "destination.port", "request.auth.claims[groups]"};
  if (std::ranges::find(kKnown, key) != kKnown.end()) return std::string(key);
  return std::nullopt;
}

Result<PolicyRule> read_rule(const json::Value& value, const std::string& at) {
  PolicyRule rule;
  if (!value.is_object()) return wrong(at, "must be an object");
  rule.from = TRY(read_list(value, "from", "source", kSourceFields, at));
  rule.to = TRY(read_list(value, "to", "operation", kOperationFields, at));
  const json::Array* when = json::array_at(value, {"when"});
  for (std::size_t i = 0; when && i < when->size(); ++i) {
    const std::string field = at + ".when[" + std::to_string(i) + "]";
    const std::string_view key = json::string_at((*when)[i], {"key"});
    std::optional<std::string> attribute = attribute_of(key);
    if (!attribute) return wrong(field + ".key", "\"" + std::string(key) + "\" is not supported");
    PolicyTest test{std::move(*attribute), {}, {}};
    if (const json::Value* values = json::find((*when)[i], "values"))
      test.values = TRY(texts(*values, field + ".values"));
    if (const json::Value* values = json::find((*when)[i], "notValues"))
      test.not_values = TRY(texts(*values, field + ".notValues"));
    if (test.values.empty() && test.not_values.empty()) return wrong(field, "has no values");
    rule.when.push_back(std::move(test));
  }
  return rule;
}

std::vector<std::pair<std::string, std::string>> selector_of(const framework::AnyObject& object) {
  std::vector<std::pair<std::string, std::string>> out;
  if (const json::Object* labels = json::object_at(object.spec, {"selector", "matchLabels"}))
    for (const auto& label : *labels)
      if (label.value().is_string())
        out.emplace_back(label.key(), json::sv(label.value().as_string()));
  return out;
}

}  // namespace

const std::vector<std::string>& PolicyFacts::of(std::string_view attribute) const {
  static const std::vector<std::string> kNone;
  const auto at = values_.find(attribute);
  return at == values_.end() ? kNone : at->second;
}

Result<Policy> read_policy(const framework::AnyObject& object) {
  Policy policy;
  policy.object = framework::key_of(object.metadata);
  const std::string_view action = json::string_at(object.spec, {"action"});
  if (action == "DENY")
    policy.action = Policy::Action::deny;
  else if (action == "AUDIT")
    policy.action = Policy::Action::audit;
  else if (!action.empty() && action != "ALLOW")
    return wrong("spec.action", "\"" + std::string(action) + "\" is not supported");
  for (std::string_view other : {"targetRef", "targetRefs"})
    if (json::find(object.spec, other))
      return wrong("spec." + std::string(other), "is not supported");
  policy.selector = selector_of(object);
  const json::Array* rules = json::array_at(object.spec, {"rules"});
  for (std::size_t i = 0; rules && i < rules->size(); ++i) {
    const std::string at = "spec.rules[" + std::to_string(i) + "]";
    if (i >= kMaxPolicyRules) return wrong(at, "is one too many");
    policy.rules.push_back(TRY(read_rule((*rules)[i], at)));
  }
  return policy;
}

Policy policy_against_everybody(const framework::AnyObject& object) {
  Policy policy;
  policy.object = framework::key_of(object.metadata);
  policy.selector = selector_of(object);
  policy.action = Policy::Action::deny;
  policy.rules.emplace_back();
  return policy;
}

bool selects(const Policy& policy, const json::Object* service_selector) {
  return std::ranges::all_of(policy.selector, [&](const auto& label) {
    const json::Value* asked =
        service_selector ? json::find(*service_selector, label.first) : nullptr;
    if (!asked || !asked->is_string()) return policy.object.ns != kRootNamespace;
    return json::sv(asked->as_string()) == label.second;
  });
}

bool matches(const PolicyRule& rule, const PolicyFacts& facts) {
  const auto any = [&](const std::vector<PolicyTests>& list) {
    return list.empty() || std::ranges::any_of(list, [&](const PolicyTests& tests) {
             return all_hold(tests, facts);
           });
  };
  return any(rule.from) && any(rule.to) && all_hold(rule.when, facts);
}

std::string refusal_by(const Policies& policies, const PolicyFacts& facts) {
  const auto hits = [&](const std::shared_ptr<const Policy>& policy) {
    return std::ranges::any_of(policy->rules,
                               [&](const PolicyRule& rule) { return matches(rule, facts); });
  };
  bool must_be_allowed = false, allowed = false;
  for (const auto& policy : policies) {
    if (policy->action == Policy::Action::deny && hits(policy))
      return "AuthorizationPolicy " + policy->object.ns + "/" + policy->object.name + " denies it";
    if (policy->action != Policy::Action::allow) continue;
    must_be_allowed = true;
    allowed = allowed || hits(policy);
  }
  return must_be_allowed && !allowed ? "no AuthorizationPolicy allows it" : "";
}

PolicyFacts facts_of(const PolicyRequest& request) {
  PolicyFacts facts;
  const auto source = [&](const std::string& ns, const std::string& account) {
    facts.add("source.principal", kTrustDomain + ns + "/sa/" + account);
    facts.add("source.namespace", ns);
  };
  source(kRootNamespace, "istio-ingressgateway-service-account");
  const std::string& name = request.user.name;
  if (name.starts_with(kServiceAccount)) {
    const std::string rest = name.substr(kServiceAccount.size());
    if (const std::size_t colon = rest.find(':'); colon != std::string::npos)
      source(rest.substr(0, colon), rest.substr(colon + 1));
  }
  facts.add("request.auth.principal", name);
  facts.add("request.auth.claims[email]", name);
  for (const std::string& group : request.user.groups)
    facts.add("request.auth.claims[groups]", group);
  for (const auto& [header, value] : request.headers.all()) {
    std::string attribute = std::string(kHeaders) + header + "]";
    std::ranges::transform(attribute, attribute.begin(), net::to_lower);
    facts.add(std::move(attribute), value);
  }
  facts.add("request.method", request.method);
  facts.add("request.path", request.path.substr(0, request.path.find('?')));
  facts.add("request.host", request.host);
  facts.add("destination.port", std::to_string(request.port));
  return facts;
}

}  // namespace hekla::gateway
