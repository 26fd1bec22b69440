// The downward API: what a pod may know of itself, as text.
#pragma once

#include <string>

#include "base/result.h"
#include "model/core.h"

namespace hekla::agent {

// Facts of a running pod that its spec does not say.
struct PodFacts {
  std::string pod_ip, host_ip, node_name;
  model::ResourceList node_allocatable;
};

// fieldRef: metadata.name, metadata.labels['x'], status.podIP, ...
Result<std::string> field_value(const model::Pod& pod, const PodFacts& facts,
                                const std::string& path);
// resourceFieldRef: limits.cpu with a divisor, rounded up; a missing limit is what the node has.
Result<std::string> resource_value(const model::Container& container, const PodFacts& facts,
                                   const json::Value& reference);
// key="value" lines, sorted, as downwardAPI volumes print labels and annotations.
std::string format_map(const std::map<std::string, std::string>& map);

}  // namespace hekla::agent
