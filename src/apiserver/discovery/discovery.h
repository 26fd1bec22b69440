// The served resources, as clients ask for them: aggregated (apidiscovery.k8s.io/v2) and in the old
// form of one document per group version.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "apiserver/object/registry.h"
#include "json/value.h"
#include "net/http.h"

namespace hekla::apiserver {

json::Value aggregated_discovery(const Catalog& catalog, bool core);
json::Value api_versions(const std::string& server_address);
json::Value api_group_list(const Catalog& catalog);
// Null when the group (version) is not served.
std::optional<json::Value> api_group(const Catalog& catalog, const std::string& group);
std::optional<json::Value> api_resource_list(const Catalog& catalog, const std::string& group,
                                             const std::string& version);
json::Value root_paths(const Catalog& catalog);
json::Value version_info();

// Answers the paths of discovery, /version and /; nullopt for any other. Thread-safe.
class DiscoveryHandler {
 public:
  DiscoveryHandler(const Registry& registry, std::string server_address)
      : registry_(registry), server_address_(std::move(server_address)) {}
  std::optional<net::Response> handle(const net::Request& request) const;
  // Whether any version of the group is built in.
  bool knows_group(std::string_view group) const;

 private:
  struct Cached {
    std::uint64_t generation = 0;
    std::string core, groups;  // the two aggregated documents
  };
  net::Response aggregated(const net::Request& request, bool core) const;

  const Registry& registry_;
  std::string server_address_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Cached> cached_;
};

}  // namespace hekla::apiserver
