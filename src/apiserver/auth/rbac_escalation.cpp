// Writes of roles and bindings must not hand out what the writer does not hold.
#include "apiserver/auth/rbac.h"
#include "apiserver/object/metadata.h"
#include "apiserver/text/errors.h"

namespace hekla::apiserver {

namespace {

using kube::AdmissionRequest;
using kube::Operation;

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

RequestInfo special_verb(std::string verb, std::string plural, std::string ns, std::string name) {
  RequestInfo info;
  info.is_resource = true;
  info.verb = std::move(verb);
  info.group = kRbac;
  info.version = "v1";
  info.plural = std::move(plural);
  info.ns = std::move(ns);
  info.name = std::move(name);
  return info;
}

std::string name_of(const AdmissionRequest& request, const json::Value& object) {
  std::string_view name = meta_string(object, "name");
  return std::string(name.empty() ? request.key.name : name);
}

Result<void> confirm_held(const RequestAuthorizer& authorizer, const AdmissionRequest& request,
                          const std::string& name, const std::vector<PolicyRule>& rules) {
  std::vector<PolicyRule> missing =
      missing_rules(authorizer.rules_of(request.user, request.key.ns), rules);
  if (missing.empty()) return {};
  std::string why = "user \"" + request.user.name +
                    "\" (groups=" + quoted_list(request.user.groups) +
                    ") is attempting to grant RBAC permissions not currently held:";
  for (const PolicyRule& rule : missing) why += "\n" + compact_text(rule);
  return std::unexpected(forbidden_error(request.resource, name, why));
}

// A change of metadata alone grants nothing.
bool grants_the_same(const AdmissionRequest& request, const json::Value& object,
                     std::initializer_list<std::string_view> members) {
  if (!request.old_object) return false;
  for (std::string_view member : members) {
    const json::Value* before = json::find(*request.old_object, member);
    const json::Value* after = json::find(object, member);
    if ((before == nullptr) != (after == nullptr) || (before && !json::equal(*before, *after)))
      return false;
  }
  return true;
}

Result<void> role_is_held(const RequestAuthorizer& authorizer, const AdmissionRequest& request,
                          const json::Value& role) {
  if (in_group(request.user, "system:masters")) return {};
  const std::string name = name_of(request, role);
  if (authorizer.allows(request.user,
                        special_verb("escalate", request.resource.plural, request.key.ns, name),
                        nullptr))
    return {};
  if (grants_the_same(request, role, {"rules", "aggregationRule"})) return {};
  // An aggregation rule grants whatever it gathers, so it takes every right to set one, and to take
  // one away, which keeps the role from being tightened.
  const auto gathers = [](const json::Value& one) {
    const json::Array* selectors = json::array_at(one, {"aggregationRule", "clusterRoleSelectors"});
    return selectors && !selectors->empty();
  };
  if (gathers(role) || (request.old_object && gathers(*request.old_object))) {
    const std::vector<PolicyRule> everything{{{"*"}, {"*"}, {"*"}, {}, {}},
                                             {{"*"}, {}, {}, {}, {"*"}}};
    if (!missing_rules(authorizer.rules_of(request.user, request.key.ns), everything).empty())
      return std::unexpected(forbidden_error(
          request.resource, name, "must have cluster-admin privileges to use the aggregationRule"));
  }
  return confirm_held(authorizer, request, name, parse_policy_rules(role));
}

Result<void> binding_is_held(const RequestAuthorizer& authorizer, const AdmissionRequest& request,
                             const json::Value& binding) {
  if (in_group(request.user, "system:masters")) return {};
  const bool cluster = json::string_at(binding, {"roleRef", "kind"}) == "ClusterRole";
  const std::string role_name(json::string_at(binding, {"roleRef", "name"}));
  const std::string plural = cluster ? "clusterroles" : "roles";
  if (authorizer.allows(request.user, special_verb("bind", plural, request.key.ns, role_name),
                        nullptr))
    return {};
  if (grants_the_same(request, binding, {"subjects", "roleRef"})) return {};
  const kube::Resource roles{std::string(kRbac), "v1", plural, cluster ? "ClusterRole" : "Role",
                             !cluster};
  kube::SharedValue role =
      TRY(request.reader->get(roles, {cluster ? "" : request.key.ns, role_name}));
  return confirm_held(authorizer, request, name_of(request, binding), parse_policy_rules(*role));
}

}  // namespace

std::vector<kube::AdmissionStep> rbac_admission(const RequestAuthorizer& authorizer) {
  auto writes_of = [](std::string_view a, std::string_view b) {
    return
        [a, b](const kube::Resource& resource, Operation operation, std::string_view subresource) {
          return operation != Operation::remove && subresource.empty() && resource.group == kRbac &&
                 (resource.plural == a || resource.plural == b);
        };
  };
  std::vector<kube::AdmissionStep> steps;
  steps.push_back({"RBAC", writes_of("roles", "clusterroles"), nullptr,
                   [&authorizer](const AdmissionRequest& request, const json::Value& object) {
                     return role_is_held(authorizer, request, object);
                   }});
  steps.push_back({"RBAC", writes_of("rolebindings", "clusterrolebindings"), nullptr,
                   [&authorizer](const AdmissionRequest& request, const json::Value& object) {
                     return binding_is_held(authorizer, request, object);
                   }});
  return steps;
}

}  // namespace hekla::apiserver
