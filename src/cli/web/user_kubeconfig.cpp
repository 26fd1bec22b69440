#include "cli/web/user_kubeconfig.h"

#include <algorithm>

#include "base/bytes.h"
#include "json/parse.h"

namespace hekla::cli {
namespace {

namespace resources = kube::resources;

const kube::Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings",
                                   "RoleBinding"};

// False when it was there already.
Result<bool> create(ApiSession& session, const kube::Resource& resource, const std::string& ns,
                    const json::Object& object) {
  Result<json::Value> made =
      session.call("POST", ApiSession::path_of(resource, ns), json::serialize(object));
  if (made) return true;
  if (made.error().code == Code::already_exists) return false;
  return std::unexpected(made.error());
}

json::Object named(const std::string& api_version, const std::string& kind,
                   const std::string& name) {
  return {{"apiVersion", api_version}, {"kind", kind}, {"metadata", json::Object{{"name", name}}}};
}

// A binding's role cannot be changed: another role needs another binding.
Result<void> bind(ApiSession& session, const UserGrant& grant) {
  const std::string name = "user-" + grant.name;
  const std::string path = ApiSession::path_of(kRoleBindings, grant.ns, name);
  Result<json::Value> there = session.call("GET", path);
  if (there && json::string_at(*there, {"roleRef", "name"}) == grant.role) return {};
  if (there) TRY(session.call("DELETE", path));
  json::Object binding = named("rbac.authorization.k8s.io/v1", "RoleBinding", name);
  binding["roleRef"] = json::Object{
      {"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", grant.role}};
  binding["subjects"] = json::Array{
      json::Object{{"kind", "ServiceAccount"}, {"name", grant.name}, {"namespace", grant.ns}}};
  TRY(create(session, kRoleBindings, grant.ns, binding));
  return {};
}

bool is_of_this_machine(const std::string& url) {
  const std::size_t begin = url.find("://");
  const std::string host = begin == std::string::npos ? url : url.substr(begin + 3);
  return host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
}

}  // namespace

std::string user_kubeconfig_text(const kube::ClusterAccess& access, const UserGrant& grant,
                                 const std::string& token) {
  json::Object cluster{{"server", access.server}};
  if (!access.http.ca_pem.empty())
    cluster["certificate-authority-data"] = base64_encode(access.http.ca_pem);
  if (access.http.insecure_skip_verify) cluster["insecure-skip-tls-verify"] = true;
  const std::string context = grant.name + "@" + grant.ns;
  return json::to_yaml(json::Object{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"clusters", json::Array{json::Object{{"name", "hekla"}, {"cluster", cluster}}}},
      {"users",
       json::Array{json::Object{{"name", grant.name}, {"user", json::Object{{"token", token}}}}}},
      {"contexts", json::Array{json::Object{{"name", context},
                                            {"context", json::Object{{"cluster", "hekla"},
                                                                     {"user", grant.name},
                                                                     {"namespace", grant.ns}}}}}},
      {"current-context", context}});
}

Result<UserKubeconfig> grant_access(ApiSession& session, const UserGrant& grant) {
  UserKubeconfig out;
  if (!session.call("GET", ApiSession::path_of(resources::namespaces, "", grant.ns)))
    out.new_namespace =
        TRY(create(session, resources::namespaces, "", named("v1", "Namespace", grant.ns)));
  TRY(create(session, resources::service_accounts, grant.ns,
             named("v1", "ServiceAccount", grant.name)));
  TRY(bind(session, grant));
  json::Object request{
      {"apiVersion", "authentication.k8s.io/v1"},
      {"kind", "TokenRequest"},
      {"spec", json::Object{{"expirationSeconds", std::int64_t{grant.days} * 24 * 3600}}}};
  const json::Value answer = TRY(session.call(
      "POST", ApiSession::path_of(resources::service_accounts, grant.ns, grant.name) + "/token",
      json::serialize(request)));
  out.text =
      user_kubeconfig_text(session.access(), grant, json::text_at(answer, {"status", "token"}));
  out.until = json::text_at(answer, {"status", "expirationTimestamp"});
  out.local_only = is_of_this_machine(session.access().server);
  return out;
}

}  // namespace hekla::cli
