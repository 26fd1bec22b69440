// The ephemeralcontainers subresource of pods: containers for kubectl debug, added to a pod that
// runs. They can be added and never changed or taken away.
#pragma once

#include <string_view>
#include <vector>

#include "apiserver/object/kind.h"

namespace hekla::apiserver {

// Everything of `old`, with the ephemeral containers of `object`.
void isolate_ephemeral(json::Value& object, const json::Value& old);
std::vector<Cause> validate_ephemeral_update(const json::Value& pod, const json::Value& old);

// kubectl up to 1.21 reads and writes a list of its own, an EphemeralContainers, where all others
// use the pod.
std::optional<json::Value> show_ephemeral(const json::Value& pod, std::string_view user_agent);
// The pod that such a list stands for; any other object as it is.
json::Value pod_of_ephemeral(json::Value object);

}  // namespace hekla::apiserver
