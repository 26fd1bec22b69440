// A container's environment and command line as Kubernetes computes them. Pure.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agent/spec/downward.h"
#include "agent/spec/pod_sources.h"
#include "base/result.h"
#include "model/core.h"

namespace hekla::agent {

using Environment = std::vector<std::pair<std::string, std::string>>;

// Where pods find the API server.
struct ApiEndpoint {
  std::string host;
  int port = 443;
};

// KUBERNETES_SERVICE_HOST and its family, and with `links` those of every service with a cluster
// IP.
Environment service_environment(const ApiEndpoint& api, bool links,
                                const std::vector<const model::Service*>& services);

// envFrom, then env in order (each may refer to what stands before it), then the services'
// variables that nothing has overridden. Fails in the kubelet's words when a reference cannot be
// resolved.
Result<Environment> container_environment(const model::Pod& pod, const model::Container& container,
                                          const PodFacts& facts, const PodSources& sources,
                                          const Environment& services);

// Kubernetes' $(NAME): unknown names stay as they are, $$ is a dollar sign.
std::string expand(const std::string& text,
                   const std::function<const std::string*(const std::string&)>& lookup);
std::vector<std::string> expand_all(const std::vector<std::string>& texts, const Environment& env);

}  // namespace hekla::agent
