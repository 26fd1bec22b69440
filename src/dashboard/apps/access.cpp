#include "dashboard/apps/access.h"

#include <algorithm>
#include <cctype>

#include "base/crypto.h"
#include "dashboard/resources.h"

namespace hekla::dashboard {

namespace {

const kube::Resource kPolicies{"security.istio.io", "v1beta1", "authorizationpolicies",
                               "AuthorizationPolicy"};
const kube::Resource kReviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews",
                              "SelfSubjectAccessReview", false};
constexpr const char* kGateway =
    "cluster.local/ns/istio-system/sa/istio-ingressgateway-service-account";
constexpr const char* kPipelines = "cluster.local/ns/kubeflow/sa/ml-pipeline-ui";

bool is_role(std::string_view role) { return role == "admin" || role == "edit" || role == "view"; }

}  // namespace

std::vector<Binding> bindings_from(const json::Array& role_bindings) {
  std::vector<Binding> out;
  for (const json::Value& one : role_bindings) {
    Binding binding;
    binding.ns = json::text_at(one, {"metadata", "namespace"});
    binding.name = json::text_at(one, {"metadata", "name"});
    binding.user = json::text_at(one, {"metadata", "annotations", "user"});
    binding.role = json::text_at(one, {"metadata", "annotations", "role"});
    const json::Array* subjects = json::array_at(one, {"subjects"});
    binding.user_kind = subjects && !subjects->empty() ? json::text_at(subjects->front(), {"kind"})
                                                       : std::string("User");
    if (!binding.user.empty() && is_role(binding.role)) out.push_back(std::move(binding));
  }
  return out;
}

json::Object binding_json(const Binding& binding) {
  return {{"user", json::Object{{"kind", binding.user_kind}, {"name", binding.user}}},
          {"referredNamespace", binding.ns},
          {"RoleRef", json::Object{{"kind", "ClusterRole"}, {"name", binding.role}}}};
}

Result<Binding> binding_from_json(const json::Value& body) {
  Binding out;
  out.ns = json::text_at(body, {"referredNamespace"});
  out.user = json::text_at(body, {"user", "name"});
  out.user_kind = json::text_at(body, {"user", "kind"});
  if (out.user_kind.empty()) out.user_kind = "User";
  const json::Value* role = json::find(body, "RoleRef");
  if (!role) role = json::find(body, "roleRef");
  out.role = role ? json::text_at(*role, {"name"}) : "";
  if (out.role.starts_with("kubeflow-")) out.role.erase(0, std::string_view("kubeflow-").size());
  if (out.ns.empty() || out.user.empty())
    return fail(Code::bad_request, "a binding needs user.name and referredNamespace");
  if (out.user_kind != "User" && out.user_kind != "Group")
    return fail(Code::bad_request, "user.kind must be User or Group");
  if (!is_role(out.role))
    return fail(Code::forbidden, "RoleRef.name must be one of admin, edit, view");
  return out;
}

std::string binding_name(const Binding& binding) {
  const std::string whole = binding.user_kind + "-" + binding.user + "-ClusterRole-" + binding.role;
  std::string out;
  for (unsigned char c : whole) {
    if (std::isalnum(c))
      out += static_cast<char>(std::tolower(c));
    else if (!out.ends_with('-'))
      out += '-';
  }
  return out;
}

json::Object role_binding_of(const Binding& binding) {
  return {
      {"apiVersion", "rbac.authorization.k8s.io/v1"},
      {"kind", "RoleBinding"},
      {"metadata",
       json::Object{{"name", binding_name(binding)},
                    {"namespace", binding.ns},
                    {"annotations", json::Object{{"user", binding.user}, {"role", binding.role}}}}},
      {"roleRef", json::Object{{"apiGroup", "rbac.authorization.k8s.io"},
                               {"kind", "ClusterRole"},
                               {"name", "kubeflow-" + binding.role}}},
      {"subjects", json::Array{json::Object{{"apiGroup", "rbac.authorization.k8s.io"},
                                            {"kind", binding.user_kind},
                                            {"name", binding.user}}}}};
}

json::Object authorization_policy_of(const Binding& binding) {
  const json::Object when{{"key", "request.headers[kubeflow-userid]"},
                          {"values", json::Array{json::Value(binding.user)}}};
  const json::Object source{
      {"principals", json::Array{json::Value(kGateway), json::Value(kPipelines)}}};
  const json::Object rule{{"from", json::Array{json::Object{{"source", source}}}},
                          {"when", json::Array{when}}};
  return {
      {"apiVersion", kPolicies.api_version()},
      {"kind", kPolicies.kind},
      {"metadata",
       json::Object{{"name", binding_name(binding)},
                    {"namespace", binding.ns},
                    {"annotations", json::Object{{"user", binding.user}, {"role", binding.role}}}}},
      {"spec", json::Object{{"action", "ALLOW"}, {"rules", json::Array{rule}}}}};
}

void with_bindings(const AppCallPtr& call, std::string ns,
                   std::function<void(std::vector<Binding>)> then) {
  with_cluster_admin(call, [call, ns = std::move(ns), then = std::move(then)](bool admin) {
    call->ask_as_platform(
        list_request(kRoleBindings, ns), [call, then, admin](const ApiAnswer& answer) {
          std::vector<Binding> all = bindings_from(answer.items());
          const auto owns = [&](const std::string& in) {
            return std::ranges::any_of(all, [&](const Binding& one) {
              return one.ns == in && one.user == call->user() && one.role == "admin";
            });
          };
          std::vector<Binding> seen;
          for (const Binding& one : all)
            if (admin || one.user == call->user() || owns(one.ns)) seen.push_back(one);
          then(std::move(seen));
        });
  });
}

void with_cluster_admin(const AppCallPtr& call, std::function<void(bool)> then) {
  json::Object review{
      {"apiVersion", kReviews.api_version()},
      {"kind", kReviews.kind},
      {"spec", json::Object{{"resourceAttributes",
                             json::Object{{"verb", "*"}, {"group", "*"}, {"resource", "*"}}}}}};
  call->ask(create_request(kReviews, "", std::move(review)),
            [then = std::move(then)](const ApiAnswer& answer) {
              then(answer.ok() && json::bool_at(answer.body, {"status", "allowed"}));
            });
}

void with_ownership(const AppCallPtr& call, const std::string& profile,
                    std::function<void(bool)> then) {
  call->ask_as_platform(get_request(kProfiles, {"", profile}), [call, then = std::move(then)](
                                                                   const ApiAnswer& answer) {
    if (answer.ok() && json::string_at(answer.body, {"spec", "owner", "name"}) == call->user())
      return then(true);
    with_cluster_admin(call, then);
  });
}

void with_namespace_ownership(const AppCallPtr& call, const std::string& ns,
                              std::function<void(bool)> then) {
  call->ask_as_platform(
      get_request(kube::resources::namespaces, {"", ns}),
      [call, ns, then = std::move(then)](const ApiAnswer& answer) {
        if (answer.ok() &&
            json::string_at(answer.body, {"metadata", "annotations", "owner"}) == call->user())
          return with_ownership(call, ns, then);
        with_cluster_admin(call, then);
      });
}

// Upstream's name, in which "a.b@x" and "a-b@x" are the same. Whoever comes second has one more
// part in theirs.
void create_binding(const AppCallPtr& call, const Binding& binding, const std::string& name,
                    std::function<void(ApiAnswer)> then) {
  json::Value body = role_binding_of(binding);
  json::at_path(body, {"metadata", "name"}) = name;
  call->ask_as_platform(
      create_request(kRoleBindings, binding.ns, body),
      [call, binding, name, then = std::move(then)](ApiAnswer made) {
        if (made.status != 409 || name != binding_name(binding)) return then(std::move(made));
        call->ask_as_platform(
            get_request(kRoleBindings, {binding.ns, name}),
            [call, binding, name, then, made](const ApiAnswer& there) {
              if (!there.ok() ||
                  json::string_at(there.body, {"metadata", "annotations", "user"}) == binding.user)
                return then(made);
              create_binding(call, binding, name + "-" + sha256_hex(binding.user).substr(0, 8),
                             then);
            });
      });
}

void add_binding(const AppCallPtr& call, const Binding& binding,
                 std::function<void(ApiAnswer)> then) {
  create_binding(
      call, binding, binding_name(binding),
      [call, binding, then = std::move(then)](ApiAnswer made) {
        if (!made.ok()) return then(std::move(made));
        json::Value policy = authorization_policy_of(binding);
        if (const std::string name = json::text_at(made.body, {"metadata", "name"}); !name.empty())
          json::at_path(policy, {"metadata", "name"}) = name;
        // Where nobody serves policies the gateway goes by RBAC alone.
        call->ask_as_platform(
            create_request(kPolicies, binding.ns, policy),
            [then, made = std::move(made)](const ApiAnswer& policy) {
              then(policy.ok() || policy.status == 404 || policy.status == 409 ? made : policy);
            });
      });
}

void remove_binding(const AppCallPtr& call, const Binding& binding,
                    std::function<void(ApiAnswer)> then) {
  call->ask_as_platform(
      list_request(kRoleBindings, binding.ns),
      [call, binding, then = std::move(then)](const ApiAnswer& listed) {
        for (const Binding& one : bindings_from(listed.items())) {
          if (one.user != binding.user || one.role != binding.role || one.name == "namespaceAdmin")
            continue;
          return call->ask_as_platform(
              delete_request(kRoleBindings, {one.ns, one.name}, "Background"),
              [call, one, then](ApiAnswer removed) {
                call->ask_as_platform(
                    delete_request(kPolicies, {one.ns, one.name}, "Background"),
                    [then, removed = std::move(removed)](const ApiAnswer&) { then(removed); });
              });
        }
        then({404, "there is no such binding", nullptr});
      });
}

void create_profile(const AppCallPtr& call, const std::string& name, json::Value body,
                    std::function<void(ApiAnswer)> then) {
  json::Value profile = std::move(body);
  if (!profile.is_object()) profile = json::Object{};
  json::Object& object = profile.get_object();
  object["apiVersion"] = kProfiles.api_version();
  object["kind"] = kProfiles.kind;
  json::at_path(profile, {"metadata", "name"}) = name;
  if (json::string_at(profile, {"spec", "owner", "name"}).empty())
    json::at_path(profile, {"spec", "owner"}) =
        json::Object{{"kind", "User"}, {"name", call->user()}};
  call->ask_as_platform(
      get_request(kube::resources::namespaces, {"", name}),
      [call, name, profile = std::move(profile), then = std::move(then)](const ApiAnswer& taken) {
        if (taken.ok()) return then({409, "there is a namespace " + name + " already", nullptr});
        call->ask_as_platform(create_request(kProfiles, "", profile), then);
      });
}

}  // namespace hekla::dashboard
