// Containers in a namespace of one user: what of a configuration works there. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/os/user_namespace.h"
#include "agent/runtime/bundle.h"
#include "json/value.h"

namespace hekla::agent {

// Takes from a config.json what one user without control groups cannot have. `mountinfo`: a root
// that is to be read-only has to be so in each of its mounts.
void adapt_to_one_user(json::Value& config, std::string_view mountinfo);
// Why a container with this identity cannot be run; nothing when it can, or when we are root.
std::optional<std::string> missing_user(const Security& security, bool rootless = is_rootless());

}  // namespace hekla::agent
