#include "apiserver/discovery/discovery.h"

#include <algorithm>

#include "apiserver/kinds/api_service.h"
#include "apiserver/kinds/unstored.h"
#include "apiserver/object/subresources.h"
#include "apiserver/read/negotiate.h"
#include "apiserver/text/status_error.h"
#include "base/build_info.h"
#include "base/bytes.h"
#include "base/crypto.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kAggregatedType =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

json::Array strings(const std::vector<std::string>& list) {
  json::Array out;
  out.reserve(list.size());
  for (const std::string& one : list) out.emplace_back(one);
  return out;
}

json::Object response_kind(std::string_view group, std::string_view version,
                           std::string_view kind) {
  return json::Object{{"group", group}, {"version", version}, {"kind", kind}};
}

// Upstream leaves group and version of its own kinds open where they are those of the resource.
json::Object response_kind_in(const Kind& kind, std::string_view group, std::string_view version,
                              std::string_view name) {
  const kube::Resource& r = kind.resource;
  if (!kind.custom && group == r.group && version == r.version) return response_kind("", "", name);
  return response_kind(group, version, name);
}

json::Object aggregated_resource(const Kind& kind) {
  const kube::Resource& r = kind.resource;
  json::Object out;
  out.emplace("resource", r.plural);
  out.emplace("responseKind", response_kind_in(kind, r.group, r.version, r.kind));
  out.emplace("scope", r.namespaced ? "Namespaced" : "Cluster");
  out.emplace("singularResource", kind.singular);
  out.emplace("verbs", strings(kind.verbs));
  if (!kind.short_names.empty()) out.emplace("shortNames", strings(kind.short_names));
  if (!kind.categories.empty()) out.emplace("categories", strings(kind.categories));
  json::Array subs;
  for (const Subresource& one : subresources_of(kind))
    subs.push_back(
        json::Object{{"subresource", one.name},
                     {"responseKind", response_kind_in(kind, one.group, one.version, one.kind)},
                     {"verbs", strings(one.verbs)}});
  if (!subs.empty()) out.emplace("subresources", std::move(subs));
  return out;
}

json::Object remote_kind(const RemoteVersion& remote, const json::Value& resource) {
  const std::string_view group = json::string_at(resource, {"group"}),
                         version = json::string_at(resource, {"version"});
  return response_kind(group.empty() ? remote.group : group,
                       version.empty() ? remote.version : version,
                       json::string_at(resource, {"kind"}));
}

// Another server's APIResourceList in the form of the aggregated document.
json::Array remote_resources(const RemoteVersion& remote) {
  json::Array out;
  const auto take = [](const json::Value& from, json::Object& to, std::string_view member) {
    if (const json::Value* value = json::find(from, member)) to.emplace(member, *value);
  };
  for (const json::Value& resource : remote.resources) {
    const std::string_view name = json::string_at(resource, {"name"});
    if (name.empty() || name.contains('/')) continue;
    json::Object one{{"resource", name},
                     {"responseKind", remote_kind(remote, resource)},
                     {"scope", json::bool_at(resource, {"namespaced"}) ? "Namespaced" : "Cluster"},
                     {"singularResource", json::string_at(resource, {"singularName"})}};
    for (std::string_view member : {"verbs", "shortNames", "categories"})
      take(resource, one, member);
    json::Array subs;
    for (const json::Value& other : remote.resources) {
      const std::string_view whole = json::string_at(other, {"name"});
      if (!whole.starts_with(name) || whole.size() <= name.size() + 1 || whole[name.size()] != '/')
        continue;
      json::Object sub{{"subresource", whole.substr(name.size() + 1)},
                       {"responseKind", remote_kind(remote, other)}};
      take(other, sub, "verbs");
      subs.push_back(std::move(sub));
    }
    if (!subs.empty()) one.emplace("subresources", std::move(subs));
    out.push_back(std::move(one));
  }
  return out;
}

// Opaque to everybody but the storage migrator.
std::string storage_hash(const Kind& kind) {
  return base64_encode(
      sha256(kind.resource.group + "/" + kind.storage.version + "/" + kind.resource.kind)
          .substr(0, 8));
}

void append_legacy(const Kind& kind, json::Array& out) {
  const kube::Resource& r = kind.resource;
  json::Object main{{"name", r.plural},
                    {"singularName", kind.singular},
                    {"namespaced", r.namespaced},
                    {"kind", r.kind},
                    {"verbs", strings(kind.verbs)}};
  if (!kind.short_names.empty()) main.emplace("shortNames", strings(kind.short_names));
  if (!kind.categories.empty()) main.emplace("categories", strings(kind.categories));
  if (!kind.storage.version.empty()) main.emplace("storageVersionHash", storage_hash(kind));
  out.push_back(std::move(main));
  for (const Subresource& one : subresources_of(kind)) {
    json::Object sub{
        {"name", r.plural + "/" + one.name}, {"singularName", ""}, {"namespaced", r.namespaced}};
    if (one.group != r.group || one.version != r.version) {
      sub.emplace("group", one.group);
      sub.emplace("version", one.version);
    }
    sub.emplace("kind", one.kind);
    sub.emplace("verbs", strings(one.verbs));
    out.push_back(std::move(sub));
  }
}

// Served and virtual kinds, in the catalog's order.
std::vector<KindPtr> listed_kinds(const Catalog& catalog) {
  std::vector<KindPtr> kinds;
  for (const ServedPtr& served : catalog.all()) kinds.push_back(served->kind);
  kinds.insert(kinds.end(), virtual_kinds().begin(), virtual_kinds().end());
  if (catalog.node_reports())
    kinds.insert(kinds.end(), report_kinds().begin(), report_kinds().end());
  std::stable_sort(kinds.begin(), kinds.end(), [](const KindPtr& a, const KindPtr& b) {
    return std::pair(group_priority(a->resource.group), a->resource.group) <
           std::pair(group_priority(b->resource.group), b->resource.group);
  });
  return kinds;
}

std::vector<std::string> groups_of(const Catalog& catalog) {
  std::vector<std::string> groups;
  for (const KindPtr& kind : listed_kinds(catalog))
    if (groups.empty() || groups.back() != kind->resource.group)
      groups.push_back(kind->resource.group);
  for (const RemotePtr& remote : catalog.remotes()) {
    if (std::ranges::find(groups, remote->group) != groups.end()) continue;
    const auto behind = std::ranges::find_if(groups, [&](const std::string& group) {
      return group_minimum(group) < remote->group_priority;
    });
    groups.insert(behind, remote->group);
  }
  return groups;
}

std::vector<std::string> versions_of(const Catalog& catalog, const std::string& group) {
  std::vector<std::string> versions;
  for (const KindPtr& kind : listed_kinds(catalog))
    if (kind->resource.group == group &&
        std::find(versions.begin(), versions.end(), kind->resource.version) == versions.end())
      versions.push_back(kind->resource.version);
  for (const RemotePtr& remote : catalog.remotes())
    if (remote->group == group) versions.push_back(remote->version);
  return versions;
}

json::Object group_object(const Catalog& catalog, const std::string& group) {
  json::Array versions;
  for (const std::string& version : versions_of(catalog, group))
    versions.push_back(json::Object{{"groupVersion", group + "/" + version}, {"version", version}});
  json::Object out{{"name", group}};
  json::Value preferred = versions.front();
  out.emplace("versions", std::move(versions));
  out.emplace("preferredVersion", std::move(preferred));
  return out;
}

// Revalidation for kubectl's disk cache.
net::Response with_etag(const net::Request& request, net::Response response) {
  std::string etag = "\"" + sha256_hex(response.body) + "\"";
  response.headers.set("ETag", etag);
  response.headers.set("Vary", "Accept");
  if (request.headers.get("If-None-Match") == etag) {
    response.status = 304;
    response.body.clear();
  }
  return response;
}

bool wants_aggregated(const net::Request& request) {
  for (const MediaClause& clause : parse_accept(request.headers.get("Accept"))) {
    if (clause.type != "application/json" && clause.type != "*/*") continue;
    if (clause.as.empty()) return false;
    if (clause.as == "APIGroupDiscoveryList" && clause.version == "v2") return true;
  }
  return false;
}

}  // namespace

json::Value aggregated_discovery(const Catalog& catalog, bool core) {
  json::Array items;
  for (const std::string& group : groups_of(catalog)) {
    if (group.empty() != core) continue;
    json::Array versions;
    for (const std::string& version : versions_of(catalog, group)) {
      const RemotePtr remote = catalog.remote(group, version);
      json::Array resources = remote ? remote_resources(*remote) : json::Array();
      for (const KindPtr& kind : listed_kinds(catalog))
        if (kind->resource.group == group && kind->resource.version == version)
          resources.push_back(aggregated_resource(*kind));
      versions.push_back(
          json::Object{{"version", version},
                       {"freshness", remote && !remote->available ? "Stale" : "Current"},
                       {"resources", std::move(resources)}});
    }
    json::Object metadata;
    if (!group.empty()) metadata.emplace("name", group);
    items.push_back(
        json::Object{{"metadata", std::move(metadata)}, {"versions", std::move(versions)}});
  }
  return json::Object{{"kind", "APIGroupDiscoveryList"},
                      {"apiVersion", "apidiscovery.k8s.io/v2"},
                      {"metadata", json::Object()},
                      {"items", std::move(items)}};
}

json::Value api_versions(const std::string& server_address) {
  json::Object client{{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", server_address}};
  return json::Object{{"kind", "APIVersions"},
                      {"versions", json::Array{json::Value("v1")}},
                      {"serverAddressByClientCIDRs", json::Array{json::Value(std::move(client))}}};
}

json::Value api_group_list(const Catalog& catalog) {
  json::Array groups;
  for (const std::string& group : groups_of(catalog))
    if (!group.empty()) groups.push_back(group_object(catalog, group));
  return json::Object{
      {"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

std::optional<json::Value> api_group(const Catalog& catalog, const std::string& group) {
  if (group.empty() || versions_of(catalog, group).empty()) return std::nullopt;
  json::Object out{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
  for (auto& member : group_object(catalog, group)) out.emplace(member.key(), member.value());
  return json::Value(std::move(out));
}

std::optional<json::Value> api_resource_list(const Catalog& catalog, const std::string& group,
                                             const std::string& version) {
  json::Array resources;
  for (const KindPtr& kind : listed_kinds(catalog))
    if (kind->resource.group == group && kind->resource.version == version)
      append_legacy(*kind, resources);
  if (resources.empty()) return std::nullopt;
  json::Object list{{"kind", "APIResourceList"}};
  if (!group.empty()) list.emplace("apiVersion", "v1");  // the core group's list has none
  list.emplace("groupVersion", group.empty() ? version : group + "/" + version);
  list.emplace("resources", std::move(resources));
  return json::Value(std::move(list));
}

json::Value root_paths(const Catalog& catalog) {
  json::Array paths{json::Value("/api"), json::Value("/api/v1"), json::Value("/apis")};
  for (const std::string& group : groups_of(catalog)) {
    if (group.empty()) continue;
    paths.emplace_back("/apis/" + group);
    for (const std::string& version : versions_of(catalog, group))
      paths.emplace_back("/apis/" + group + "/" + version);
  }
  for (std::string_view path :
       {"/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"})
    paths.emplace_back(path);
  return json::Object{{"paths", std::move(paths)}};
}

json::Value version_info() {
  const BuildInfo& build = build_info();
  return json::Object{{"major", "1"},
                      {"minor", "34"},
                      {"emulationMajor", "1"},
                      {"emulationMinor", "34"},
                      {"minCompatibilityMajor", "1"},
                      {"minCompatibilityMinor", "33"},
                      {"gitVersion", build.kubernetes},
                      {"gitCommit", build.commit},
                      {"gitTreeState", "clean"},
                      {"buildDate", "1970-01-01T00:00:00Z"},
                      {"goVersion", "none"},
                      {"compiler", build.compiler},
                      {"platform", "linux/amd64"}};
}

net::Response DiscoveryHandler::aggregated(const net::Request& request, bool core) const {
  const CatalogPtr catalog = registry_.catalog();
  std::shared_ptr<const Cached> cached;
  {
    std::lock_guard lock(mutex_);
    cached = cached_;
  }
  if (!cached || cached->generation != catalog->generation()) {
    cached = std::make_shared<const Cached>(
        Cached{catalog->generation(), json::serialize(aggregated_discovery(*catalog, true)) + "\n",
               json::serialize(aggregated_discovery(*catalog, false)) + "\n"});
    std::lock_guard lock(mutex_);
    cached_ = cached;
  }
  net::Response response;
  response.headers.set("Content-Type", std::string(kAggregatedType));
  response.headers.set("Cache-Control", "public");
  response.body = core ? cached->core : cached->groups;
  return with_etag(request, std::move(response));
}

std::optional<net::Response> DiscoveryHandler::handle(const net::Request& request) const {
  const bool pretty = wants_pretty(request);
  std::string path = request.path;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  auto answer = [&](const json::Value& value) { return json_response(200, value, pretty); };
  if (path == "/version")
    return json_response(200, version_info(), true);  // upstream writes it for people
  if (path == "/api" || path == "/apis") {
    if (wants_aggregated(request)) return aggregated(request, path == "/api");
    return with_etag(request, answer(path == "/api" ? api_versions(server_address_)
                                                    : api_group_list(*registry_.catalog())));
  }
  if (path == "/") return answer(root_paths(*registry_.catalog()));
  std::optional<json::Value> found;
  if (path.starts_with("/api/") && path.find('/', 5) == std::string::npos) {
    found = api_resource_list(*registry_.catalog(), "", path.substr(5));
  } else if (path.starts_with("/apis/")) {
    std::string rest = path.substr(6);
    std::size_t slash = rest.find('/');
    if (slash == std::string::npos)
      found = api_group(*registry_.catalog(), rest);
    else if (rest.find('/', slash + 1) == std::string::npos)
      found =
          api_resource_list(*registry_.catalog(), rest.substr(0, slash), rest.substr(slash + 1));
  }
  if (!found) return std::nullopt;
  return with_etag(request, answer(*found));
}

bool DiscoveryHandler::knows_group(std::string_view group) const {
  const CatalogPtr catalog = registry_.catalog();
  return std::any_of(catalog->all().begin(), catalog->all().end(), [&](const ServedPtr& served) {
    return !served->kind->custom && served->kind->resource.group == group;
  });
}

}  // namespace hekla::apiserver
