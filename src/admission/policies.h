// Lifecycle policies as admission sees them.
#pragma once

#include <string>
#include <vector>

#include "model/volcano.h"

namespace hekla::admission {

// Everything wrong with the policies, in the words users know; empty when nothing is.
std::string policy_errors(const std::vector<model::LifecyclePolicy>& policies,
                          std::string_view path);

}  // namespace hekla::admission
