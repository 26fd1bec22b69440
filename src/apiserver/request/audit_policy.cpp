#include "apiserver/request/audit_policy.h"

#include <algorithm>

#include "apiserver/auth/auth.h"
#include "json/parse.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kLevels[] = {"None", "Metadata", "Request", "RequestResponse"};
constexpr std::string_view kStages[] = {"RequestReceived", "ResponseStarted", "ResponseComplete",
                                        "Panic"};

bool has(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

Result<std::vector<std::string>> texts_at(const json::Value& value, std::string_view member,
                                          const std::string& where) {
  std::vector<std::string> out;
  const json::Value* list = json::find(value, member);
  if (!list || list->is_null()) return out;
  if (!list->is_array())
    return fail(Code::bad_request, where + "." + std::string(member) + ": not a list");
  for (const json::Value& one : list->get_array()) {
    if (!one.is_string())
      return fail(Code::bad_request, where + "." + std::string(member) + ": not a list of strings");
    out.emplace_back(json::sv(one.get_string()));
  }
  return out;
}

Result<std::vector<std::string>> stages_at(const json::Value& value, const std::string& where) {
  std::vector<std::string> stages = TRY(texts_at(value, "omitStages", where));
  for (const std::string& stage : stages)
    if (std::find(std::begin(kStages), std::end(kStages), stage) == std::end(kStages))
      return fail(Code::bad_request, where + ".omitStages: unknown stage \"" + stage + "\"");
  return stages;
}

}  // namespace

std::string_view text_of(AuditLevel level) { return kLevels[static_cast<int>(level)]; }

AuditPolicy AuditPolicy::metadata_of_everything() {
  AuditPolicy policy;
  policy.rules_.push_back(
      {{AuditLevel::metadata, {"RequestReceived"}, false}, {}, {}, {}, {}, {}, {}});
  return policy;
}

Result<AuditPolicy> AuditPolicy::parse(std::string_view yaml) {
  std::vector<json::YamlDocument> documents = TRY(json::parse_yaml(yaml));
  if (documents.size() != 1)
    return fail(Code::bad_request, "an audit policy is exactly one document");
  const json::Value& value = documents.front().value;
  if (json::string_at(value, {"kind"}) != "Policy" ||
      json::string_at(value, {"apiVersion"}) != "audit.k8s.io/v1")
    return fail(Code::bad_request, "expected kind Policy of audit.k8s.io/v1");
  const std::vector<std::string> omitted = TRY(stages_at(value, "policy"));
  const json::Array* rules = json::array_at(value, {"rules"});
  if (!rules || rules->empty())
    return fail(Code::bad_request, "rules: an audit policy needs at least one");
  AuditPolicy policy;
  for (std::size_t i = 0; i < rules->size(); ++i) {
    Rule rule = TRY(parse_rule((*rules)[i], "rules[" + std::to_string(i) + "]"));
    rule.decision.omitted_stages.insert(rule.decision.omitted_stages.end(), omitted.begin(),
                                        omitted.end());
    rule.decision.omit_managed_fields = json::bool_at((*rules)[i], {"omitManagedFields"},
                                                      json::bool_at(value, {"omitManagedFields"}));
    policy.rules_.push_back(std::move(rule));
  }
  return policy;
}

Result<AuditPolicy::Rule> AuditPolicy::parse_rule(const json::Value& value,
                                                  const std::string& where) {
  Rule rule;
  const std::string_view level = json::string_at(value, {"level"});
  const auto known = std::find(std::begin(kLevels), std::end(kLevels), level);
  if (known == std::end(kLevels))
    return fail(Code::bad_request, where + ".level: \"" + std::string(level) +
                                       "\" is none of None, Metadata, Request, RequestResponse");
  rule.decision.level = static_cast<AuditLevel>(known - std::begin(kLevels));
  rule.decision.omitted_stages = TRY(stages_at(value, where));
  rule.users = TRY(texts_at(value, "users", where));
  rule.groups = TRY(texts_at(value, "userGroups", where));
  rule.verbs = TRY(texts_at(value, "verbs", where));
  rule.namespaces = TRY(texts_at(value, "namespaces", where));
  rule.urls = TRY(texts_at(value, "nonResourceURLs", where));
  if (const json::Array* groups = json::array_at(value, {"resources"}))
    for (const json::Value& one : *groups)
      rule.resources.push_back({std::string(json::string_at(one, {"group"})),
                                TRY(texts_at(one, "resources", where + ".resources")),
                                TRY(texts_at(one, "resourceNames", where + ".resources"))});
  if (!rule.urls.empty() && (!rule.resources.empty() || !rule.namespaces.empty()))
    return fail(Code::bad_request,
                where + ": rules cannot apply to both regular resources and non-resource URLs");
  return rule;
}

AuditDecision AuditPolicy::decide(const kube::UserInfo& user, const RequestInfo& request) const {
  for (const Rule& rule : rules_)
    if (matches(rule, user, request)) return rule.decision;
  return {};
}

bool AuditPolicy::matches(const Rule& rule, const kube::UserInfo& user,
                          const RequestInfo& request) {
  if (!rule.users.empty() && !has(rule.users, user.name)) return false;
  if (!rule.groups.empty() &&
      std::none_of(rule.groups.begin(), rule.groups.end(),
                   [&](const std::string& one) { return in_group(user, one); }))
    return false;
  if (!rule.verbs.empty() && !has(rule.verbs, request.verb)) return false;
  if (!rule.namespaces.empty() || !rule.resources.empty()) {
    if (!request.is_resource || (!rule.namespaces.empty() && !has(rule.namespaces, request.ns)))
      return false;
    return rule.resources.empty() ||
           std::any_of(rule.resources.begin(), rule.resources.end(),
                       [&](const ResourceGroup& one) { return matches_resource(one, request); });
  }
  if (rule.urls.empty()) return true;
  if (request.is_resource) return false;
  return std::any_of(rule.urls.begin(), rule.urls.end(), [&](std::string_view url) {
    if (url.ends_with('*')) return request.path.starts_with(url.substr(0, url.size() - 1));
    return request.path == url;
  });
}

bool AuditPolicy::matches_resource(const ResourceGroup& group, const RequestInfo& request) {
  if (group.group != request.group) return false;
  if (!group.names.empty() && !has(group.names, request.name)) return false;
  if (group.resources.empty()) return true;
  const std::string& sub = request.subresource;
  const std::string whole = sub.empty() ? request.plural : request.plural + "/" + sub;
  return has(group.resources, whole) || has(group.resources, "*") ||
         has(group.resources, request.plural + "/*") ||
         (!sub.empty() && has(group.resources, "*/" + sub));
}

}  // namespace hekla::apiserver
