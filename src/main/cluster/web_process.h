// Gateway, login and dashboard for somebody's cluster, as a process of their own.
#pragma once

#include "cli/component_options.h"

namespace hekla {

int run_web(const cli::WebOptions& options);

}  // namespace hekla
