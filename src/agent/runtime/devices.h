// Device nodes of the machine, as a container's configuration names them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/runtime/bundle.h"

namespace hekla::agent {

// The node at `path`, to be called `name` in a container; nothing when it is no device.
std::optional<OciDevice> read_device(const std::string& path, const std::string& name);

// All below `directory` that a privileged container gets as /dev/...: not what every container has
// of its own (terminals, shared memory, message queues).
std::vector<OciDevice> host_devices(const std::string& directory = "/dev");

}  // namespace hekla::agent
