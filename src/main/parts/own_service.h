// A Service whose endpoint is this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "main/parts/standing_objects.h"

namespace hekla {

struct OwnPort {
  std::string name;
  std::uint16_t port = 0, target = 0;  // the Service's, and the one that is listened on
};

// The Service where it is missing, leading to `address`.
void add_own_service(StandingObjects& standing, const std::string& ns, const std::string& name,
                     const std::vector<OwnPort>& ports, const std::string& address);

}  // namespace hekla
