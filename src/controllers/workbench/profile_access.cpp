#include "controllers/workbench/profile_access.h"

#include <cctype>

namespace hekla::controllers::workbench {

using framework::AnyObject;
using framework::Child;
using json::Array;
using json::Object;

constexpr const char* kRbac = "rbac.authorization.k8s.io";
const kube::Resource role_bindings{kRbac, "v1", "rolebindings", "RoleBinding"};
const kube::Resource authorization_policies{"security.istio.io", "v1beta1", "authorizationpolicies",
                                            "AuthorizationPolicy"};

namespace {

constexpr const char* kGateway =
    "cluster.local/ns/istio-system/sa/istio-ingressgateway-service-account";
constexpr const char* kPipelinesPage = "cluster.local/ns/kubeflow/sa/ml-pipeline-ui";
constexpr const char* kNotebookController =
    "cluster.local/ns/kubeflow/sa/notebook-controller-service-account";

Child binding(const std::string& ns, Object metadata, const std::string& role, Object subject) {
  metadata["namespace"] = ns;
  return {.resource = role_bindings,
          .body = Object{
              {"metadata", std::move(metadata)},
              {"roleRef", Object{{"apiGroup", kRbac}, {"kind", "ClusterRole"}, {"name", role}}},
              {"subjects", Array{std::move(subject)}}}};
}

// The subject of a binding, with the group that is often left out.
Object subject_of(const json::Value& owner) {
  Object subject{{"kind", json::text_at(owner, {"kind"})},
                 {"name", json::text_at(owner, {"name"})}};
  if (json::string_at(owner, {"kind"}) == "ServiceAccount")
    subject["namespace"] = json::text_at(owner, {"namespace"});
  else
    subject["apiGroup"] = kRbac;
  return subject;
}

// As access management names its bindings: user-a-example-com-clusterrole-admin.
std::string binding_name(const json::Value& owner) {
  std::string name;
  const std::string whole =
      json::text_at(owner, {"kind"}) + "-" + json::text_at(owner, {"name"}) + "-clusterrole-admin";
  for (const unsigned char c : whole) {
    if (std::isalnum(c))
      name += static_cast<char>(std::tolower(c));
    else if (!name.ends_with('-'))
      name += '-';
  }
  return name;
}

// The dashboard and access management know owners by these annotations.
Child owner_binding(const std::string& ns, const std::string& name, const json::Value& owner) {
  Object annotations{{"user", json::text_at(owner, {"name"})}, {"role", "admin"}};
  return binding(ns, Object{{"name", name}, {"annotations", std::move(annotations)}},
                 "kubeflow-admin", subject_of(owner));
}

Object from(Object source) { return {{"from", Array{Object{{"source", std::move(source)}}}}}; }

Object to(Object operation) { return {{"to", Array{Object{{"operation", std::move(operation)}}}}}; }

// A rule for whoever comes through the gateway or the pipelines' page and is one of `values`.
Object visitor(const char* key, Array values) {
  Object rule = from(Object{{"principals", Array{kGateway, kPipelinesPage}}});
  rule["when"] = Array{Object{{"key", key}, {"values", std::move(values)}}};
  return rule;
}

// Names under which the gateway knows owners.
struct Owners {
  Array users, groups;
  void add(const json::Value& owner) {
    const std::string name = json::text_at(owner, {"name"});
    const std::string_view kind = json::string_at(owner, {"kind"});
    if (kind == "Group")
      groups.push_back(json::Value(name));
    else if (kind == "ServiceAccount")
      users.push_back(
          json::Value("system:serviceaccount:" + json::text_at(owner, {"namespace"}) + ":" + name));
    else
      users.push_back(json::Value(name));
  }
};

Child policy(const std::string& ns, Owners owners) {
  Array rules;
  if (!owners.users.empty())
    rules.push_back(visitor("request.headers[kubeflow-userid]", std::move(owners.users)));
  if (!owners.groups.empty())
    rules.push_back(visitor("request.auth.claims[groups]", std::move(owners.groups)));
  Object neighbour{
      {"when", Array{Object{{"key", "source.namespace"}, {"values", Array{json::Value(ns)}}}}}};
  Object probes = to(Object{{"paths", Array{"/healthz", "/metrics", "/wait-for-drain"}}});
  Object culler = from(Object{{"principals", Array{kNotebookController}}});
  culler["to"] = to(Object{{"methods", Array{"GET"}}, {"paths", Array{"*/api/kernels"}}})["to"];
  rules.insert(rules.end(), {std::move(neighbour), std::move(probes), std::move(culler)});
  return {.resource = authorization_policies,
          .body = Object{{"metadata", Object{{"name", "ns-owner-access-istio"}, {"namespace", ns}}},
                         {"spec", Object{{"action", "ALLOW"}, {"rules", std::move(rules)}}}}};
}

}  // namespace

std::vector<Child> access_to(const AnyObject& profile) {
  const std::string& ns = profile.metadata.name;
  std::vector<Child> children;
  for (const auto& [account, role] :
       {std::pair<std::string, std::string>{"default-editor", "kubeflow-edit"},
        {"default-viewer", "kubeflow-view"}}) {
    children.push_back(
        {.resource = kube::resources::service_accounts,
         .body = Object{{"metadata", Object{{"name", account}, {"namespace", ns}}}}});
    children.push_back(
        binding(ns, Object{{"name", account}}, role,
                Object{{"kind", "ServiceAccount"}, {"name", account}, {"namespace", ns}}));
  }
  const json::Value* first = json::find(profile.spec, "owner");
  children.push_back(owner_binding(ns, "namespaceAdmin", *first));
  Owners all;
  all.add(*first);
  const Array* others = json::array_at(profile.spec, {"owners"});
  for (std::size_t i = 0; others && i < others->size(); ++i) {
    children.push_back(owner_binding(ns, binding_name(others->at(i)), others->at(i)));
    all.add(others->at(i));
  }
  children.push_back(policy(ns, std::move(all)));
  return children;
}

}  // namespace hekla::controllers::workbench
