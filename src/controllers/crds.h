// The CustomResourceDefinitions of api/crds, embedded into the binary.
#pragma once

#include <span>
#include <string_view>

namespace hekla::controllers {

// One YAML document each, in the order of their file names.
std::span<const std::string_view> crd_yamls();
// The lists of api/open_kinds, one YAML document each.
std::span<const std::string_view> open_kind_yamls();

}  // namespace hekla::controllers
