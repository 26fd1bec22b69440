#include "base/environment.h"

#include <cstdlib>

namespace hekla {

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace hekla
