// The ConfigMaps, Secrets and service-account tokens a pod refers to, and their values once
// fetched.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/core.h"

namespace hekla::agent {

enum class SourceKind { config_map, secret };

struct SourceRef {
  SourceKind kind = SourceKind::config_map;
  std::string name;
  auto operator<=>(const SourceRef&) const = default;
};

// A token asked for by a projected volume: bound to the pod, for `audience` (empty: the API
// server).
struct TokenRequest {
  std::string ns, service_account, pod_name, pod_uid, audience;
  std::int64_t expiration_seconds = 3600;
  auto operator<=>(const TokenRequest&) const = default;
};

// Where the files of a bound persistent volume claim are.
struct ClaimVolume {
  std::string path;
  bool provisioned = false;  // by us: the pod's fsGroup applies
  bool must_exist = false;   // somebody prepared it: a local volume
  bool read_only = false;    // the volume can be used in no other way
};

// All from the pod's own namespace. An object that does not exist is simply not in it.
struct PodSources {
  std::map<std::string, model::ConfigMap> config_maps;
  std::map<std::string, model::Secret> secrets;
  std::map<TokenRequest, std::string> tokens;
  std::map<std::string, ClaimVolume> claims;  // by the claim's name
};

std::set<SourceRef> volume_sources(const model::Pod& pod);
std::set<SourceRef> environment_sources(const model::Container& container);
std::vector<TokenRequest> token_requests(const model::Pod& pod);

}  // namespace hekla::agent
