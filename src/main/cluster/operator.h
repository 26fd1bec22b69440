// Scheduler, controllers and admission for somebody's cluster in one process.
#pragma once

#include "cli/component_options.h"

namespace hekla {

int run_operator(const cli::OperatorOptions& options);

}  // namespace hekla
