#include "apiserver/auth/rbac_rules.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace hekla::apiserver {

namespace {

std::vector<std::string> rule_strings(const json::Value& rule, std::string_view member) {
  std::vector<std::string> found;
  if (const json::Array* list = json::array_at(rule, {member}))
    for (const json::Value& one : *list)
      if (one.is_string()) found.emplace_back(json::sv(one.get_string()));
  return found;
}

bool has_or_star(const std::vector<std::string>& list, std::string_view wanted) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& one) { return one == "*" || one == wanted; });
}

bool resource_matches(std::string_view pattern, std::string_view plural,
                      std::string_view subresource) {
  if (pattern == "*") return true;
  if (subresource.empty()) return pattern == plural;
  std::size_t slash = pattern.find('/');
  if (slash == std::string_view::npos || pattern.substr(slash + 1) != subresource) return false;
  return pattern.substr(0, slash) == "*" || pattern.substr(0, slash) == plural;
}

bool url_matches(std::string_view pattern, std::string_view path) {
  if (pattern == "*" || pattern == path) return true;
  return pattern.ends_with('*') && path.starts_with(pattern.substr(0, pattern.size() - 1));
}

// One verb on one resource, one name or all, or on one path.
struct SingleRight {
  std::string verb, group, resource, name, url;
};

// One after the other, until `visit` has seen enough: a small rule may stand for a billion.
template <class Visit>
void each_right(const PolicyRule& rule, Visit visit) {
  for (const std::string& verb : rule.verbs) {
    for (const std::string& url : rule.urls)
      if (!visit(SingleRight{verb, "", "", "", url})) return;
    for (const std::string& group : rule.groups)
      for (const std::string& resource : rule.resources) {
        if (rule.names.empty() && !visit(SingleRight{verb, group, resource, "", ""})) return;
        for (const std::string& name : rule.names)
          if (!visit(SingleRight{verb, group, resource, name, ""})) return;
      }
  }
}

// "*/scale" covers "deployments/scale", but nothing short of "*" covers "*".
bool resource_covers(const std::vector<std::string>& held, const std::string& wanted) {
  const std::size_t slash = wanted.find('/');
  return std::any_of(held.begin(), held.end(), [&](const std::string& one) {
    return one == "*" || one == wanted ||
           (slash != std::string::npos && one == "*" + wanted.substr(slash));
  });
}

bool covers(const PolicyRule& held, const SingleRight& right) {
  if (!has_or_star(held.verbs, right.verb)) return false;
  if (!right.url.empty())
    return std::any_of(held.urls.begin(), held.urls.end(),
                       [&](const std::string& one) { return url_matches(one, right.url); });
  if (!has_or_star(held.groups, right.group) || !resource_covers(held.resources, right.resource))
    return false;
  if (held.names.empty()) return true;
  return !right.name.empty() &&
         std::find(held.names.begin(), held.names.end(), right.name) != held.names.end();
}

void append_part(std::string& text, std::string_view name, const std::vector<std::string>& list) {
  if (list.empty()) return;
  if (text.size() > 1) text += ", ";
  text += std::string(name) + ":" + quoted_list(list);
}

}  // namespace

PolicyRule parse_policy_rule(const json::Value& rule) {
  return {rule_strings(rule, "verbs"), rule_strings(rule, "apiGroups"),
          rule_strings(rule, "resources"), rule_strings(rule, "resourceNames"),
          rule_strings(rule, "nonResourceURLs")};
}

std::vector<PolicyRule> parse_policy_rules(const json::Value& role) {
  std::vector<PolicyRule> rules;
  if (const json::Array* list = json::array_at(role, {"rules"}))
    for (const json::Value& one : *list) rules.push_back(parse_policy_rule(one));
  return rules;
}

json::Value policy_rule_value(const PolicyRule& rule) {
  json::Object out;
  auto put = [&](std::string_view name, const std::vector<std::string>& list) {
    if (list.empty()) return;
    json::Array values;
    for (const std::string& one : list) values.emplace_back(one);
    out.emplace(name, std::move(values));
  };
  put("verbs", rule.verbs);
  put("apiGroups", rule.groups);
  put("resources", rule.resources);
  put("resourceNames", rule.names);
  put("nonResourceURLs", rule.urls);
  return out;
}

bool rule_allows(const PolicyRule& rule, const RequestInfo& request) {
  if (!has_or_star(rule.verbs, request.verb)) return false;
  if (!request.is_resource)
    return std::any_of(rule.urls.begin(), rule.urls.end(),
                       [&](const std::string& one) { return url_matches(one, request.path); });
  if (!has_or_star(rule.groups, request.group)) return false;
  if (std::none_of(rule.resources.begin(), rule.resources.end(), [&](const std::string& one) {
        return resource_matches(one, request.plural, request.subresource);
      }))
    return false;
  return rule.names.empty() ||
         std::find(rule.names.begin(), rule.names.end(), request.name) != rule.names.end();
}

// As many are named; the first one is reason enough to refuse.
constexpr std::size_t kMaxMissing = 100;

std::vector<PolicyRule> missing_rules(const std::vector<PolicyRule>& held,
                                      const std::vector<PolicyRule>& wanted) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, PolicyRule> missing;
  for (const PolicyRule& rule : wanted)
    each_right(rule, [&](const SingleRight& right) {
      if (missing.size() >= kMaxMissing) return false;
      if (std::any_of(held.begin(), held.end(),
                      [&](const PolicyRule& one) { return covers(one, right); }))
        return true;
      PolicyRule& entry = missing[{right.group, right.resource, right.name, right.url}];
      if (std::find(entry.verbs.begin(), entry.verbs.end(), right.verb) == entry.verbs.end())
        entry.verbs.push_back(right.verb);
      if (!right.url.empty()) {
        entry.urls = {right.url};
        return true;
      }
      entry.groups = {right.group};
      entry.resources = {right.resource};
      if (!right.name.empty()) entry.names = {right.name};
      return true;
    });
  std::vector<PolicyRule> rules;
  for (auto& [key, rule] : missing) rules.push_back(std::move(rule));
  return rules;
}

std::string quoted_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& one : texts) {
    if (out.size() > 1) out += ' ';
    json::append_quoted(one, out);
  }
  return out + "]";
}

std::string compact_text(const PolicyRule& rule) {
  std::string text = "{";
  append_part(text, "APIGroups", rule.groups);
  append_part(text, "Resources", rule.resources);
  append_part(text, "NonResourceURLs", rule.urls);
  append_part(text, "ResourceNames", rule.names);
  append_part(text, "Verbs", rule.verbs);
  return text + "}";
}

}  // namespace hekla::apiserver
