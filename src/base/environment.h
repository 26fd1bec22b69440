// The environment this process was started with.
#pragma once

#include <string>

namespace hekla {

// Empty when it is not set.
std::string environment_variable(const char* name);

}  // namespace hekla
