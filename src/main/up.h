// `hekla up`: every component in one process, until a signal ends it.
#pragma once

#include <string>

#include "base/log.h"

namespace hekla {

namespace cli {
struct UpOptions;
}

// "debug", "info", "error"; anything else is a warning.
LogLevel log_level_of(const std::string& name);

// Blocks. The exit code: 0 after SIGTERM or SIGINT, 1 when it could not start.
int run_up(const cli::UpOptions& options);

}  // namespace hekla
