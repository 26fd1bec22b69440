// The launcher of pipeline steps (src/launcher), carried within this program.
#pragma once

#include <string_view>

namespace hekla {

std::string_view launcher_bytes();

}  // namespace hekla
