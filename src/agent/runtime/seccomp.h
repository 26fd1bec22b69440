// The system calls a container may make under the profile RuntimeDefault: all that act on the
// container alone, and those that a capability of its stands for.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace hekla::agent {

// The `linux.seccomp` section of an OCI config. `capabilities` without CAP_.
json::Value default_seccomp(const std::vector<std::string>& capabilities);

}  // namespace hekla::agent
