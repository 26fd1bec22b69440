#include "apiserver/discovery/openapi.h"

#include <algorithm>
#include <cctype>

#include "apiserver/discovery/openapi_paths.h"
#include "apiserver/discovery/openapi_schema.h"
#include "base/crypto.h"

namespace hekla::apiserver {
namespace {

// Kinds without a schema cannot be described; clients then ask nobody.
bool described(const Kind& kind) { return kind.schema != nullptr; }

json::Object info(const std::string& version) {
  return {{"title", "Kubernetes"}, {"version", version}};
}

}  // namespace

std::string openapi_v3_document(const std::string& group, const std::string& version,
                                std::span<const KindPtr> kinds) {
  OpenApiSchemas schemas(OpenApiVersion::v3);
  json::Object paths;
  for (const KindPtr& kind : kinds)
    if (kind->resource.group == group && kind->resource.version == version && described(*kind))
      add_paths(*kind, OpenApiVersion::v3, schemas, paths);
  json::Object document{{"openapi", "3.0.0"},
                        {"info", info("unversioned")},
                        {"paths", std::move(paths)},
                        {"components", json::Object{{"schemas", schemas.take_definitions()}}}};
  return json::serialize(document);
}

std::string openapi_v3_path(const std::string& group, const std::string& version) {
  return group.empty() ? "api/" + version : "apis/" + group + "/" + version;
}

std::string openapi_hash(std::string_view document) {
  std::string hash = sha256_hex(document);
  std::transform(hash.begin(), hash.end(), hash.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return hash;
}

std::string openapi_v3_index(const std::vector<OpenApiEntry>& entries) {
  json::Object paths;
  for (const OpenApiEntry& entry : entries)
    paths.emplace(entry.path, json::Object{{"serverRelativeURL",
                                            "/openapi/v3/" + entry.path + "?hash=" + entry.hash}});
  return json::serialize(json::Object{{"paths", std::move(paths)}});
}

json::Value openapi_v2_document(std::span<const KindPtr> kinds, const std::string& server_version) {
  OpenApiSchemas schemas(OpenApiVersion::v2);
  json::Object paths;
  for (const KindPtr& kind : kinds)
    if (described(*kind)) add_paths(*kind, OpenApiVersion::v2, schemas, paths);
  return json::Object{{"swagger", "2.0"},
                      {"info", info(server_version)},
                      {"paths", std::move(paths)},
                      {"definitions", schemas.take_definitions()}};
}

}  // namespace hekla::apiserver
