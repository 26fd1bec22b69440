// AppArmor profiles of pods. Without AppArmor in the kernel RuntimeDefault means nothing, and a
// profile that a pod names must not be left out in silence.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "json/value.h"
#include "model/core.h"

namespace hekla::agent {

struct AppArmor {
  bool enabled = false;
  std::string profiles;  // what the kernel has loaded, "name (mode)" on each line
};
AppArmor read_apparmor();

// Why the node cannot take the pod, in the kubelet's words.
std::optional<std::string> missing_apparmor(const model::Pod& pod, const AppArmor& kernel);
// The profile of a container; empty for none. The container's word is the last.
Result<std::string> apparmor_profile(const json::Value& pod_context,
                                     const json::Value& container_context, const AppArmor& kernel);

}  // namespace hekla::agent
