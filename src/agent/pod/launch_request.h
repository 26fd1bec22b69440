// The order to start one container: command line, environment, identity, devices,
// limits. Pure.
#pragma once

#include <optional>

#include "agent/pod/pod_context.h"

namespace hekla::agent {

struct LaunchInput {
  const PodContext& context;
  AgentPodPtr pod;
  const PodRecord& record;
  std::size_t container = 0;  // into the record's; it is in the spec
  PodFacts facts;
  const PodSources& sources;
  std::optional<StoredImage> image;  // none: the machine's own file system
};

// All but the record, which is that of the run when it begins. Fails in the kubelet's words when
// the container cannot be configured.
Result<LaunchRequest> make_launch_request(const LaunchInput& input);

}  // namespace hekla::agent
