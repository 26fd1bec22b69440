// fsGroup: a volume's files as their pod's group wants them, in the kubelet's way.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace hekla::agent {

// Gives everything below `path`, and itself, to the group: directories are readable, writable and
// searchable for it and hand it on, files are readable and writable. Never leaves the tree,
// whatever somebody does to it meanwhile. With `on_mismatch` nothing is done when the top already
// is as it should be. Blocks.
Result<void> give_to_group(const std::string& path, std::uint32_t group, bool on_mismatch);

}  // namespace hekla::agent
