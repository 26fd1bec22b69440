// The ClusterTrainingRuntimes of api/runtimes, embedded into the binary.
#pragma once

#include <span>
#include <string_view>

namespace hekla::controllers {

// One YAML document each, in the order of their file names.
std::span<const std::string_view> runtime_yamls();

}  // namespace hekla::controllers
