#include "apiserver/server/bootstrap.h"

#include <algorithm>
#include <map>

#include "apiserver/auth/rbac_bootstrap.h"
#include "apiserver/crd/crds.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/storage.h"
#include "apiserver/server/flow_bootstrap.h"
#include "apiserver/server/server_address.h"
#include "apiserver/write/managed_fields.h"
#include "json/parse.h"

namespace hekla::apiserver {

namespace {

// Clients that delete something and wait for its end must have time to see it gone.
constexpr std::chrono::seconds kReturnAfter{2};
constexpr std::chrono::milliseconds kReturnLook{250};

json::Value namespace_object(std::string_view name) {
  return json::Object{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", name}}}};
}

json::Value service_account_object(std::string_view ns, std::string_view name) {
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "ServiceAccount"},
                      {"metadata", json::Object{{"name", name}, {"namespace", ns}}}};
}

json::Value priority_class(std::string_view name, std::int64_t value,
                           std::string_view description) {
  return json::Object{{"apiVersion", "scheduling.k8s.io/v1"},
                      {"kind", "PriorityClass"},
                      {"metadata", json::Object{{"name", name}}},
                      {"value", value},
                      {"globalDefault", false},
                      {"description", description},
                      {"preemptionPolicy", "PreemptLowerPriority"}};
}

// The range cluster IPs are taken from.
json::Value service_range(const BootstrapOptions& options) {
  return json::Object{
      {"apiVersion", "networking.k8s.io/v1"},
      {"kind", "ServiceCIDR"},
      {"metadata", json::Object{{"name", "kubernetes"}}},
      {"spec", json::Object{{"cidrs", json::Array{json::Value(options.service_cidr)}}}}};
}

// The kind an object names by apiVersion and kind.
ServedPtr kind_of(const Catalog& catalog, const json::Value& object) {
  for (const ServedPtr& served : catalog.all())
    if (served->kind->resource.api_version() == json::string_at(object, {"apiVersion"}) &&
        served->kind->resource.kind == json::string_at(object, {"kind"}))
      return served;
  return nullptr;
}

WriteRequest request_for(ServedPtr served, json::Value object) {
  WriteRequest request;
  request.key = {std::string(meta_string(object, "namespace")),
                 std::string(meta_string(object, "name"))};
  request.served = std::move(served);
  request.body = std::move(object);
  request.field_manager = kBootstrapManager;
  request.user = {"system:apiserver", "", {"system:masters"}};
  return request;
}

// Both turn the creation of what is there into what is left to do; false: nothing.
// Admission puts what is ours into a CRD of the platform's that is written again.
void update_crd(const json::Value& stored, WriteRequest& request) {
  request.verb = WriteRequest::Verb::update;
  request.body = stored;
}
bool update_rbac(const json::Value& stored, WriteRequest& request,
                 std::vector<WriteRequest>& before) {
  std::optional<RbacRepair> repair = repaired_rbac(stored, request.body);
  if (!repair) return false;
  if (repair->replace) {
    WriteRequest removal = request;
    removal.verb = WriteRequest::Verb::remove;
    removal.body = nullptr;
    before.push_back(std::move(removal));
  } else {
    request.verb = WriteRequest::Verb::update;
    request.body = std::move(repair->object);
  }
  return true;
}

// Endpoints of a start at another address, when this one has none.
void plan_removals(const store::Snapshot& snapshot, const Catalog& catalog,
                   const std::vector<json::Value>& objects, std::vector<WriteRequest>& requests) {
  const kube::Key key{"default", "kubernetes"};
  for (const ServedPtr& served : {catalog.find("", "v1", "endpoints"),
                                  catalog.find("discovery.k8s.io", "v1", "endpointslices")}) {
    const bool wanted = std::ranges::any_of(objects, [&](const json::Value& object) {
      return json::string_at(object, {"kind"}) == served->kind->resource.kind;
    });
    if (wanted || !snapshot.get(served->bucket, storage_key(*served->kind, key))) continue;
    WriteRequest request = request_for(served, nullptr);
    request.key = key;
    request.verb = WriteRequest::Verb::remove;
    requests.push_back(std::move(request));
  }
}

// A create for what is missing, an update for a CRD of ours that reads otherwise, for default roles
// that lack something and for where the server is found, nothing for the rest.
void plan(const store::Snapshot& snapshot, const Catalog& catalog, std::vector<json::Value> objects,
          std::vector<WriteRequest>& requests) {
  for (json::Value& object : objects) {
    ServedPtr served = kind_of(catalog, object);
    if (!served) continue;
    WriteRequest request = request_for(served, std::move(object));
    store::ItemPtr item = snapshot.get(served->bucket, storage_key(*served->kind, request.key));
    if (item) {
      const json::Value stored = decode_object(*served, *item);
      if (served->kind->traits.brings_kinds) {
        update_crd(stored, request);
      } else if (tells_of_the_server(served->kind->resource, request.key)) {
        request.verb = WriteRequest::Verb::update;
        request.body = with_server_address(stored, request.body);
      } else if (served->kind->resource.group != "rbac.authorization.k8s.io" ||
                 !update_rbac(stored, request, requests)) {
        continue;
      }
    }
    requests.push_back(std::move(request));
  }
}

}  // namespace

std::vector<json::Value> bootstrap_objects(const BootstrapOptions& options) {
  std::vector<json::Value> objects;
  for (std::string_view name : {"default", "kube-system", "kube-public", "kube-node-lease"})
    objects.push_back(namespace_object(name));
  if (options.platform_objects)
    for (json::Value& object : platform_objects()) objects.push_back(std::move(object));
  objects.push_back(
      priority_class("system-cluster-critical", 2000000000,
                     "Used for system critical pods that must run in the cluster, but "
                     "can be moved to another node if necessary."));
  objects.push_back(
      priority_class("system-node-critical", 2000001000,
                     "Used for system critical pods that must not be moved from their "
                     "current node."));
  for (json::Value& flow : bootstrap_flows()) objects.push_back(std::move(flow));
  objects.push_back(service_range(options));
  for (json::Value& object : server_address_objects(options)) objects.push_back(std::move(object));
  for (json::Value& object : bootstrap_roles())
    if (options.platform_objects || !meta_string(object, "name").starts_with("default-"))
      objects.push_back(std::move(object));
  return objects;
}

Result<std::vector<json::Value>> parse_crds(const std::vector<std::string_view>& yamls) {
  std::vector<json::Value> crds;
  for (std::string_view yaml : yamls)
    for (json::YamlDocument& document : TRY(json::parse_yaml(yaml))) {
      if (json::string_at(document.value, {"kind"}) != "CustomResourceDefinition")
        return fail(Code::invalid, "line " + std::to_string(document.line) +
                                       ": expected a CustomResourceDefinition");
      crds.push_back(std::move(document.value));
    }
  return crds;
}

void install_objects(store::Store& store, Registry& registry, Writes& writes, Executor& loop,
                     std::vector<json::Value> objects, std::vector<json::Value> crds,
                     std::move_only_function<void(Result<void>)> done) {
  std::vector<WriteRequest> requests;
  const CatalogPtr catalog = registry.catalog();
  plan_removals(store.snapshot(), *catalog, objects, requests);
  plan(store.snapshot(), *catalog, std::move(objects), requests);
  plan(store.snapshot(), *catalog, std::move(crds), requests);
  writes.run(std::move(requests), loop,
             [done = std::move(done), &loop](std::vector<WriteOutcome> outcomes) mutable {
               Result<void> result;
               for (WriteOutcome& outcome : outcomes)
                 if (outcome.error && outcome.error->code != Code::already_exists && result)
                   result = std::unexpected(std::move(*outcome.error));
               loop.post([done = std::move(done), result = std::move(result)]() mutable {
                 done(std::move(result));
               });
             });
}

ReconcileRule returning_rule(const PlatformCrds& platform, std::vector<json::Value> objects,
                             std::function<void(json::Value&)> adorn_crd) {
  struct Missing {
    std::map<std::pair<std::string, kube::Key>, WallTime> since;
  };
  auto missing = std::make_shared<Missing>();
  auto kept = std::make_shared<const std::vector<json::Value>>(std::move(objects));
  ReconcileRule rule;
  rule.kinds = {{"apiextensions.k8s.io", "v1", "customresourcedefinitions", ""},
                {"", "v1", "namespaces", ""},
                {"", "v1", "serviceaccounts", ""},
                {"rbac.authorization.k8s.io", "v1", "clusterroles", ""},
                {"rbac.authorization.k8s.io", "v1", "clusterrolebindings", ""},
                {"rbac.authorization.k8s.io", "v1", "rolebindings", ""},
                {"storage.k8s.io", "v1", "storageclasses", ""}};
  rule.manager = kBootstrapManager;
  rule.look = [missing, kept, adorn_crd, &platform](const Catalog& catalog,
                                                    const store::Snapshot& snapshot, WallTime now) {
    std::vector<WriteRequest> requests;
    std::map<std::pair<std::string, kube::Key>, WallTime> since;
    const auto look_for = [&](const ServedPtr& served, const kube::Key& key, auto make) {
      if (!served || snapshot.get(served->bucket, storage_key(*served->kind, key))) return;
      const std::pair id{served->kind->resource.plural, key};
      auto known = missing->since.find(id);
      WallTime first = known == missing->since.end() ? now : std::min(known->second, now);
      if (now - first >= kReturnAfter) {
        requests.push_back(request_for(served, make()));
        first = now;  // tried again if it fails
      }
      since.emplace(id, first);
    };
    const ServedPtr crds = catalog.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    for (const std::string& name : platform.names())
      look_for(crds, {"", name}, [&] {
        json::Value crd = platform.crd(name);
        if (adorn_crd) adorn_crd(crd);
        return crd;
      });
    for (const json::Value& object : *kept)
      look_for(
          kind_of(catalog, object),
          {std::string(meta_string(object, "namespace")), std::string(meta_string(object, "name"))},
          [&] { return object; });
    missing->since = std::move(since);
    return requests;
  };
  rule.again = [missing]() -> std::optional<Nanos> {
    if (missing->since.empty()) return std::nullopt;
    return kReturnLook;
  };
  return rule;
}

std::vector<json::Value> platform_objects() {
  std::vector<json::Value> objects;
  for (std::string_view name :
       {"hekla-system", "volcano-system", "local-path-storage", "istio-system", "kubeflow"})
    objects.push_back(namespace_object(name));
  for (std::string_view ns : {"default", "kubeflow"})
    for (std::string_view name : {"default-editor", "default-viewer"})
      objects.push_back(service_account_object(ns, name));
  return objects;
}

std::vector<json::Value> platform_roles() {
  std::vector<json::Value> roles = bootstrap_roles();
  std::erase_if(roles, [](const json::Value& role) {
    const std::string_view name = meta_string(role, "name");
    return !name.starts_with("kubeflow-") && !name.starts_with("default-");
  });
  return roles;
}

}  // namespace hekla::apiserver
