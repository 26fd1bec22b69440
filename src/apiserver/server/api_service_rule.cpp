#include "apiserver/server/api_service_rule.h"

#include <algorithm>
#include <map>

#include "apiserver/kinds/api_service.h"
#include "apiserver/kinds/unstored.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/storage.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kGroup = "apiregistration.k8s.io";
constexpr const char* kManagedLabel = "kube-aggregator.kubernetes.io/automanaged";

std::int64_t version_priority(const std::string& group, const std::string& version, bool custom) {
  if (custom) return 100;
  if (group.empty()) return 1;
  if (group == "flowcontrol.apiserver.k8s.io" || group == "resource.k8s.io")
    return version == "v1" ? 21 : 18;
  const auto [stability, major, minor] = version_rank(version);
  return stability == 3 ? 15 * major : stability == 2 ? 9 : 1;
}

struct ServedVersion {
  std::string group, version;
  bool custom = false;
};

// By the names of their APIServices: "v1.", "v1.apps".
std::map<std::string, ServedVersion> served_versions(const Catalog& catalog) {
  std::map<std::string, ServedVersion> found;
  auto add = [&](const Kind& kind) {
    const kube::Resource& r = kind.resource;
    if (r.group != kGroup)
      found.try_emplace(r.version + "." + r.group, ServedVersion{r.group, r.version, kind.custom});
  };
  for (const ServedPtr& served : catalog.all()) add(*served->kind);
  for (const KindPtr& kind : virtual_kinds()) add(*kind);
  return found;
}

json::Value local_service(const std::string& name, const ServedVersion& served) {
  json::Object spec{
      {"version", served.version},
      {"groupPriorityMinimum", group_minimum(served.group)},
      {"versionPriority", version_priority(served.group, served.version, served.custom)}};
  if (!served.group.empty()) spec["group"] = served.group;
  json::Object labels{{kManagedLabel, served.custom ? "true" : "onstart"}};
  return json::Object{{"apiVersion", "apiregistration.k8s.io/v1"},
                      {"kind", "APIService"},
                      {"metadata", json::Object{{"name", name}, {"labels", std::move(labels)}}},
                      {"spec", std::move(spec)}};
}

WriteRequest say(const ServedPtr& services, const std::string& name, json::Value condition) {
  WriteRequest request = own_write(services, name);
  request.verb = WriteRequest::Verb::patch;
  request.patch_type = kube::PatchType::merge;
  request.subresource = "status";
  request.body =
      json::Object{{"status", json::Object{{"conditions", json::Array{std::move(condition)}}}}};
  return request;
}

std::vector<WriteRequest> look(const Catalog& catalog, const store::Snapshot& snapshot,
                               WallTime now) {
  const ServedPtr services = catalog.find(kGroup, "v1", "apiservices");
  std::map<std::string, ServedVersion> missing = served_versions(catalog);
  std::vector<WriteRequest> requests;
  snapshot.scan(services->bucket, "", "", [&](const store::ItemPtr& item) {
    const json::Value service = decode_object(*services, *item);
    const bool local = missing.erase(item->key) > 0;
    const bool managed = !json::string_at(service, {"metadata", "labels", kManagedLabel}).empty();
    if (!local && managed) {
      WriteRequest request = own_write(services, item->key);
      request.verb = WriteRequest::Verb::remove;
      requests.push_back(std::move(request));
      return true;
    }
    if (json::object_at(service, {"spec", "service"}) &&
        !is_local_version(catalog, json::string_at(service, {"spec", "group"}),
                          json::string_at(service, {"spec", "version"})))
      return true;
    json::Value condition = local_condition(now);
    if (!has_condition_like(service, condition, "reason"))
      requests.push_back(say(services, item->key, std::move(condition)));
    return true;
  });
  for (const auto& [name, served] : missing) {
    WriteRequest request = own_write(services, name);
    request.body = local_service(name, served);
    requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace

ReconcileRule api_service_rule() {
  return {{{std::string(kGroup), "v1", "apiservices", ""}}, "kube-apiserver", look};
}

}  // namespace hekla::apiserver
