// The flag that says how far pods of namespaces without labels are trusted.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace hekla::cli {

void add_pod_security_flag(CLI::App& command, std::string& level);

}  // namespace hekla::cli
