// audit.k8s.io/v1 Policy: how much of which request is recorded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/request_info.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/admission.h"

namespace hekla::apiserver {

enum class AuditLevel { none, metadata, request, request_response };
std::string_view text_of(AuditLevel level);

struct AuditDecision {
  AuditLevel level = AuditLevel::none;
  std::vector<std::string> omitted_stages;
  bool omit_managed_fields = false;
};

class AuditPolicy {
 public:
  // Errors name the rule and the field.
  static Result<AuditPolicy> parse(std::string_view yaml);
  // For those who give none: the metadata of everything, once per request.
  static AuditPolicy metadata_of_everything();

  // The first rule that matches; none: nothing is recorded.
  AuditDecision decide(const kube::UserInfo& user, const RequestInfo& request) const;

 private:
  struct ResourceGroup {
    std::string group;
    std::vector<std::string> resources, names;
  };
  struct Rule {
    AuditDecision decision;
    std::vector<std::string> users, groups, verbs, namespaces, urls;
    std::vector<ResourceGroup> resources;
  };
  static Result<Rule> parse_rule(const json::Value& value, const std::string& where);
  static bool matches(const Rule& rule, const kube::UserInfo& user, const RequestInfo& request);
  static bool matches_resource(const ResourceGroup& group, const RequestInfo& request);

  std::vector<Rule> rules_;
};

}  // namespace hekla::apiserver
