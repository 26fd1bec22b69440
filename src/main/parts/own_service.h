// A Service whose endpoint is this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/client.h"

namespace hekla {

struct OwnPort {
  std::string name;
  std::uint16_t port = 0, target = 0;  // the Service's, and the one that is listened on
};

// The writes that make the Service where it is missing and point it at `address`.
std::vector<kube::Write> own_service(const std::string& ns, const std::string& name,
                                     const std::vector<OwnPort>& ports, const std::string& address);

}  // namespace hekla
