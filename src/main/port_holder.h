// The process that has a TCP port of this machine.
#pragma once

#include <cstdint>
#include <string>

namespace hekla {

// "python3 (pid 4711)"; empty when nobody listens there, or somebody whose files may not be seen.
std::string port_holder(std::uint16_t port);

}  // namespace hekla
