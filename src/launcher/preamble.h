// The pip preamble of lightweight components: `sh -c '... pip install ... && "$0" "$@"' sh -ec
// ...`.
#pragma once

#include <string>
#include <vector>

namespace hekla::launcher {

// The requirements the preamble would install; empty when the command has none, or one that is not
// exactly the compiler's.
std::vector<std::string> preamble_requirements(const std::vector<std::string>& argv);
// True where python3 finds exactly these versions; false for a requirement that names none.
bool are_installed(const std::vector<std::string>& requirements);
// The command behind the preamble.
std::vector<std::string> without_preamble(const std::vector<std::string>& argv);

}  // namespace hekla::launcher
