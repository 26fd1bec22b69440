// RBAC's rules as values: what a rule allows, and whether some rules grant no more than others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/request_info.h"
#include "json/value.h"

namespace hekla::apiserver {

struct PolicyRule {
  std::vector<std::string> verbs, groups, resources, names, urls;
};

PolicyRule parse_policy_rule(const json::Value& rule);
std::vector<PolicyRule> parse_policy_rules(const json::Value& role);
json::Value policy_rule_value(const PolicyRule& rule);

bool rule_allows(const PolicyRule& rule, const RequestInfo& request);

// The rules of `wanted` that `held` does not grant, as few as it takes.
std::vector<PolicyRule> missing_rules(const std::vector<PolicyRule>& held,
                                      const std::vector<PolicyRule>& wanted);

// `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`.
std::string compact_text(const PolicyRule& rule);
// `["a" "b"]`.
std::string quoted_list(const std::vector<std::string>& texts);

}  // namespace hekla::apiserver
