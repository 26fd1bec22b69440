// Pods that the node does not take: the scheduler knows nothing of sysctls, and pods that their
// maker has put here have passed it by. Asked once: a pod that runs here stays.
#pragma once

#include <optional>

#include "agent/pod/pod_context.h"

namespace hekla::agent {

// The reason of the pod's failure and the kubelet's words for it.
std::optional<Refusal> admission_refusal(const AgentPod& pod, const PodContext& context);

}  // namespace hekla::agent
