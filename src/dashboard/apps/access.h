// Access to profiles, who may what: access management as upstream keeps it, in RoleBindings with
// the annotations user and role.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dashboard/apps/app.h"

namespace hekla::dashboard {

struct Binding {
  std::string ns, name;  // of the RoleBinding
  std::string user_kind, user;
  std::string role;  // admin, edit, view
};
std::vector<Binding> bindings_from(const json::Array& role_bindings);

// {"user": {kind, name}, "referredNamespace", "RoleRef": {kind, name}} and back. Errors say what is
// missing; only the three roles pass.
json::Object binding_json(const Binding& binding);
Result<Binding> binding_from_json(const json::Value& body);
// "user-a-example-com-clusterrole-edit", as upstream names it.
std::string binding_name(const Binding& binding);
json::Object role_binding_of(const Binding& binding);
json::Object authorization_policy_of(const Binding& binding);

// Bindings of one namespace, or of all of them: those that the visitor may see, which are their
// own, and all of namespaces that they own.
void with_bindings(const AppCallPtr& call, std::string ns,
                   std::function<void(std::vector<Binding>)> then);
void with_cluster_admin(const AppCallPtr& call, std::function<void(bool)> then);
// Whether the visitor owns the profile or administers the cluster.
void with_ownership(const AppCallPtr& call, const std::string& profile,
                    std::function<void(bool)> then);
// Whether they own the namespace too: anybody may make a profile that is named like somebody
// else's namespace, and it must not open that.
void with_namespace_ownership(const AppCallPtr& call, const std::string& ns,
                              std::function<void(bool)> then);

// Writes with the platform's rights, after the caller has asked whether they may.
void add_binding(const AppCallPtr& call, const Binding& binding,
                 std::function<void(ApiAnswer)> then);
void remove_binding(const AppCallPtr& call, const Binding& binding,
                    std::function<void(ApiAnswer)> then);
void create_profile(const AppCallPtr& call, const std::string& name, json::Value body,
                    std::function<void(ApiAnswer)> then);

}  // namespace hekla::dashboard
