#include "cli/cluster_install/installation.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "cli/cluster_install/readiness.h"
#include "cli/objects.h"
#include "kube/client.h"

namespace hekla::cli {
namespace {

constexpr const char* kOperator = "hekla-operator";
constexpr const char* kWebhookService = "hekla-webhook";
constexpr const char* kApply = "application/apply-patch+yaml";
constexpr const char* kMergePatch = "application/merge-patch+json";
const kube::Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
const kube::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                  "CustomResourceDefinition", false};

std::string object_name(const json::Value& object) {
  return std::string(json::string_at(object, {"metadata", "name"}));
}

std::string manager_of(const json::Value& object) {
  return std::string(json::string_at(object, {"metadata", "labels", kManagedBy}));
}

void tell(const kube::Resource& resource, const std::string& name, const char* outcome) {
  std::printf("%s/%s %s\n", qualified(resource).c_str(), name.c_str(), outcome);
  std::fflush(stdout);
}

// The object there, or none.
Result<std::optional<json::Value>> find_object(ApiSession& session, const std::string& path) {
  Result<json::Value> found = session.call("GET", path);
  if (found) return std::optional(std::move(*found));
  if (found.error().code == Code::not_found) return std::optional<json::Value>();
  return std::unexpected(found.error());
}

// One cluster, and what has been asked of it.
class TargetCluster {
 public:
  TargetCluster(ApiSession& session, std::string ns) : session_(session), ns_(std::move(ns)) {}

  Result<std::string> path_of(const json::Value& object) {
    const kube::Resource resource = TRY(resource_of(object));
    return ApiSession::path_of(resource, ns_, object_name(object));
  }

  Result<void> apply(const json::Value& object) {
    const kube::Resource resource = TRY(resource_of(object));
    const std::string path = ApiSession::path_of(resource, ns_, object_name(object));
    const std::optional<json::Value> before = TRY(find_object(session_, path));
    // A namespace, or a role, that others have made is theirs, and is not removed later.
    if (before && !resource.namespaced && manager_of(*before) != kHekla) {
      tell(resource, object_name(object), "kept, for it is somebody else's");
      return {};
    }
    const json::Value after = TRY(session_.call(
        "PATCH", path + "?fieldManager=hekla-install&force=true", json::serialize(object), kApply));
    const bool same = before && json::string_at(*before, {"metadata", "resourceVersion"}) ==
                                    json::string_at(after, {"metadata", "resourceVersion"});
    tell(resource, object_name(object), !before ? "created" : same ? "unchanged" : "configured");
    return {};
  }

  Result<void> remove(const kube::Resource& resource, const std::string& name) {
    Result<json::Value> done = session_.call(
        "DELETE", ApiSession::path_of(resource, ns_, name) + "?propagationPolicy=Background");
    if (!done && done.error().code == Code::not_found) return {};
    if (!done) return std::unexpected(done.error());
    tell(resource, name, "deleted");
    return {};
  }

  Result<std::vector<json::Value>> list(const kube::Resource& resource,
                                        const std::string& selector = {}) {
    json::Value found = TRY(session_.call(
        "GET", ApiSession::path_of(resource, ns_) +
                   (selector.empty() ? "" : "?labelSelector=" + net::url_encode(selector))));
    const json::Array* items = json::array_at(found, {"items"});
    return items ? std::vector<json::Value>(items->begin(), items->end())
                 : std::vector<json::Value>();
  }

  Result<kube::Resource> resource_of(const json::Value& object) {
    const std::string key = std::string(json::string_at(object, {"apiVersion"})) + " " +
                            std::string(json::string_at(object, {"kind"}));
    auto known = resources_.find(key);
    if (known == resources_.end())
      known = resources_.emplace(key, TRY(session_.resource_of(object))).first;
    return known->second;
  }

  ApiSession& session() { return session_; }
  const std::string& ns() const { return ns_; }

 private:
  ApiSession& session_;
  const std::string ns_;
  std::map<std::string, kube::Resource> resources_;
};

// The Deployment that tells whether Hekla is installed.
Result<std::optional<json::Value>> present(TargetCluster& cluster) {
  return find_object(cluster.session(),
                     ApiSession::path_of(kube::resources::deployments, cluster.ns(), kOperator));
}

Error of_helm(const std::string& ns, const char* instead) {
  return Error{Code::conflict, "hekla in " + ns + " was installed by helm: use helm " + instead +
                                   " hekla -n " + ns};
}

Result<void> apply_definitions(TargetCluster& cluster) {
  for (json::Value& one : TRY(definitions())) {
    json::at_path(one, {"metadata", "labels", kManagedBy}) = kHekla;
    TRY(cluster.apply(one));
  }
  return {};
}

// Objects that an earlier version made and this one does not have.
Result<void> prune(TargetCluster& cluster, const std::vector<json::Value>& wanted) {
  std::map<std::string, std::pair<kube::Resource, std::set<std::string>>> kinds;
  for (const json::Value& object : wanted) {
    const kube::Resource resource = TRY(cluster.resource_of(object));
    auto& kind = kinds[qualified(resource)];
    kind.first = resource;
    kind.second.insert(object_name(object));
  }
  const std::string ours =
      std::string(kManagedBy) + "=" + kHekla + ",app.kubernetes.io/name=" + kHekla;
  for (const auto& [name, kind] : kinds) {
    if (kind.first.kind == kNamespaces.kind) continue;
    for (const json::Value& object : TRY(cluster.list(kind.first, ours)))
      if (!kind.second.contains(object_name(object)))
        TRY(cluster.remove(kind.first, object_name(object)));
  }
  return {};
}

Result<void> bring(TargetCluster& cluster, const InstallOptions& options) {
  const std::vector<json::Value> objects = TRY(objects_of(options.what));
  TRY(apply_definitions(cluster));
  for (const json::Value& object : objects) TRY(cluster.apply(object));
  TRY(prune(cluster, objects));
  if (!options.wait) return {};
  TRY(wait_until_ready(cluster.session(), cluster.ns(), options.timeout));
  std::printf("hekla runs in %s\n", cluster.ns().c_str());
  return {};
}

bool leads_to(const json::Value* config, const std::string& ns) {
  return config && json::string_at(*config, {"service", "namespace"}) == ns &&
         json::string_at(*config, {"service", "name"}) == kWebhookService;
}

// The operator registers itself; without it the API server would refuse every write of our kinds.
Result<void> remove_webhooks(TargetCluster& cluster) {
  for (const char* plural : {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}) {
    const kube::Resource resource{"admissionregistration.k8s.io", "v1", plural,
                                  std::string(plural).starts_with("m")
                                      ? "MutatingWebhookConfiguration"
                                      : "ValidatingWebhookConfiguration",
                                  false};
    for (const json::Value& one : TRY(cluster.list(resource))) {
      const json::Array* webhooks = json::array_at(one, {"webhooks"});
      const bool ours = webhooks && std::ranges::any_of(*webhooks, [&](const json::Value& webhook) {
                          return leads_to(json::find(webhook, "clientConfig"), cluster.ns());
                        });
      if (ours) TRY(cluster.remove(resource, object_name(one)));
    }
  }
  return {};
}

Result<void> stop_conversion(TargetCluster& cluster, const json::Value& definition) {
  const json::Value* config =
      json::find_path(definition, {"spec", "conversion", "webhook", "clientConfig"});
  if (!leads_to(config, cluster.ns())) return {};
  const json::Value patch = json::Object{
      {"spec",
       json::Object{{"conversion", json::Object{{"strategy", "None"}, {"webhook", nullptr}}}}}};
  TRY(cluster.session().call("PATCH",
                             ApiSession::path_of(kDefinitions, "", object_name(definition)),
                             json::serialize(patch), kMergePatch));
  tell(kDefinitions, object_name(definition), "converts no more");
  return {};
}

Result<void> let_go_of_definitions(TargetCluster& cluster, bool remove) {
  for (const json::Value& one : TRY(cluster.list(kDefinitions))) {
    if (remove && manager_of(one) == kHekla)
      TRY(cluster.remove(kDefinitions, object_name(one)));
    else
      TRY(stop_conversion(cluster, one));
  }
  return {};
}

}  // namespace

Result<void> install(ApiSession& session, const InstallOptions& options) {
  TargetCluster cluster(session, options.what.ns);
  if (const std::optional<json::Value> there = TRY(present(cluster))) {
    if (manager_of(*there) == "Helm") return std::unexpected(of_helm(cluster.ns(), "upgrade"));
    return fail(Code::already_exists,
                "hekla is installed in " + cluster.ns() + " already: use hekla upgrade");
  }
  return bring(cluster, options);
}

Result<void> upgrade(ApiSession& session, const InstallOptions& wanted) {
  InstallOptions options = wanted;
  TargetCluster cluster(session, options.what.ns);
  const std::optional<json::Value> there = TRY(present(cluster));
  if (!there)
    return fail(Code::not_found,
                "hekla is not installed in " + cluster.ns() + ": use hekla install");
  if (manager_of(*there) == "Helm") return std::unexpected(of_helm(cluster.ns(), "upgrade"));
  const json::Array* containers =
      json::array_at(*there, {"spec", "template", "spec", "containers"});
  if (options.what.image.empty() && containers && !containers->empty())
    options.what.image = std::string(json::string_at(containers->front(), {"image"}));
  return bring(cluster, options);
}

Result<void> uninstall(ApiSession& session, const std::string& ns, bool with_definitions) {
  TargetCluster cluster(session, ns);
  if (const std::optional<json::Value> there = TRY(present(cluster));
      there && manager_of(*there) == "Helm")
    return std::unexpected(of_helm(ns, "uninstall"));
  // The operator goes first: it would register its webhooks again.
  std::vector<json::Value> objects = TRY(objects_of({ns, "none"}));
  std::ranges::reverse(objects);
  bool found = false;
  for (const json::Value& object : objects) {
    const std::optional<json::Value> there =
        TRY(find_object(session, TRY(cluster.path_of(object))));
    if (!there || manager_of(*there) != kHekla) continue;
    found = true;
    if (json::string_at(object, {"kind"}) == kNamespaces.kind) TRY(remove_webhooks(cluster));
    TRY(cluster.remove(TRY(cluster.resource_of(object)), object_name(object)));
  }
  if (!found && !with_definitions) return fail(Code::not_found, "hekla is not installed in " + ns);
  TRY(remove_webhooks(cluster));
  TRY(let_go_of_definitions(cluster, with_definitions));
  if (!with_definitions)
    std::printf("the definitions of the kinds and their objects stay; --crds removes them too\n");
  return {};
}

}  // namespace hekla::cli
