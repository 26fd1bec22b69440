// The system calls a container may not make under the profile RuntimeDefault: those that act on the
// machine rather than on the container, unless a capability that stands for them was added.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace hekla::agent {

// The `linux.seccomp` section of an OCI config. `capabilities` without CAP_.
json::Value default_seccomp(const std::vector<std::string>& capabilities);

}  // namespace hekla::agent
