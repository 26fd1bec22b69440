#include "apiserver/discovery/published_schema.h"

#include "apiserver/discovery/openapi.h"
#include "apiserver/kinds/unstored.h"
#include "apiserver/object/subresources.h"
#include "apiserver/read/negotiate.h"
#include "base/build_info.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kV2Protobuf =
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

// With those that are only posted and never stored.
std::vector<KindPtr> kinds_of(const Catalog& catalog) {
  std::vector<KindPtr> kinds;
  for (const ServedPtr& served : catalog.all()) kinds.push_back(served->kind);
  for (const KindPtr& kind : virtual_kinds())
    if (kind->schema) kinds.push_back(kind);
  return kinds;
}

bool accepts_v2_protobuf(const net::Request& request) {
  for (const MediaClause& clause : parse_accept(request.headers.get("Accept"))) {
    if (clause.type == "application/json" || clause.type == "*/*") return false;
    if (clause.type.starts_with("application/com.github.proto-openapi.spec.v2")) return true;
  }
  return false;
}

// 304 for a client that has it already.
net::Response cacheable(const net::Request& request, std::string body, std::string_view type,
                        const std::string& hash) {
  net::Response response;
  const std::string etag = "\"" + hash + "\"";
  response.headers.set("Content-Type", std::string(type));
  response.headers.set("ETag", etag);
  response.headers.set("Vary", "Accept");
  if (request.headers.get("If-None-Match") == etag)
    response.status = 304;
  else
    response.body = std::move(body);
  return response;
}

}  // namespace

std::map<std::string, PublishedSchema::Entry> PublishedSchema::entries() const {
  const CatalogPtr catalog = registry_.catalog();
  std::lock_guard lock(mutex_);
  if (known_generation_ == catalog->generation()) return known_;
  std::map<std::string, Entry> next;
  for (const KindPtr& kind : kinds_of(*catalog)) {
    const kube::Resource& r = kind->resource;
    Entry& entry = next[openapi_v3_path(r.group, r.version)];
    entry.group = r.group;
    entry.version = r.version;
    entry.kinds.push_back(kind);
  }
  for (auto& [path, entry] : next) {
    auto before = known_.find(path);
    entry.hash = before != known_.end() && before->second.kinds == entry.kinds
                     ? before->second.hash
                     : openapi_hash(openapi_v3_document(entry.group, entry.version, entry.kinds));
  }
  known_ = std::move(next);
  known_generation_ = catalog->generation();
  return known_;
}

std::optional<net::Response> PublishedSchema::v3(const net::Request& request,
                                                 const std::string& path) const {
  const std::map<std::string, Entry> all = entries();
  if (path.empty()) {
    std::vector<OpenApiEntry> index;
    for (const auto& [name, entry] : all) index.push_back({name, entry.hash});
    const CatalogPtr catalog = registry_.catalog();
    for (const RemotePtr& remote : catalog->remotes())
      if (!remote->openapi_hash.empty())
        index.push_back({openapi_v3_path(remote->group, remote->version), remote->openapi_hash});
    std::string body = openapi_v3_index(index);
    std::string hash = openapi_hash(body);
    return cacheable(request, std::move(body), "application/json", hash);
  }
  auto found = all.find(path);
  if (found == all.end()) return std::nullopt;
  const Entry& entry = found->second;
  std::string_view wanted = request.query.get("hash");
  if (!wanted.empty() && wanted != entry.hash) {
    net::Response moved;
    moved.status = 301;
    moved.headers.set("Location", "/openapi/v3/" + path + "?hash=" + net::url_encode(entry.hash));
    return moved;
  }
  net::Response response =
      cacheable(request, openapi_v3_document(entry.group, entry.version, entry.kinds),
                "application/json", entry.hash);
  if (!wanted.empty()) response.headers.set("Cache-Control", "public, immutable");
  return response;
}

net::Response PublishedSchema::v2(const net::Request& request) const {
  const CatalogPtr catalog = registry_.catalog();
  const std::string hash = "v2-" + std::to_string(catalog->generation()) + build_info().commit;
  if (!accepts_v2_protobuf(request)) {
    json::Value document = openapi_v2_document(kinds_of(*catalog), build_info().kubernetes);
    return cacheable(request, json::serialize(document), "application/json", hash);
  }
  std::shared_ptr<const std::string> bytes;
  {
    std::lock_guard lock(mutex_);
    if (v2_generation_ == catalog->generation()) bytes = v2_protobuf_;
  }
  if (!bytes) {
    bytes = std::make_shared<const std::string>(
        openapi_v2_protobuf(openapi_v2_document(kinds_of(*catalog), build_info().kubernetes)));
    std::lock_guard lock(mutex_);
    v2_protobuf_ = bytes;
    v2_generation_ = catalog->generation();
  }
  return cacheable(request, *bytes, kV2Protobuf, hash + "-pb");
}

std::optional<net::Response> PublishedSchema::handle(const net::Request& request) const {
  std::string path = request.path;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (path == "/openapi/v2") return v2(request);
  if (path == "/openapi/v3") return v3(request, "");
  if (path.starts_with("/openapi/v3/")) return v3(request, path.substr(12));
  return std::nullopt;
}

}  // namespace hekla::apiserver
