// One component of the platform against somebody's cluster, over REST, until a signal.
#pragma once

#include "cli/component_options.h"

namespace hekla {

int run_controllers(const cli::ControllersOptions& options);
int run_scheduler(const cli::SchedulerOptions& options);
int run_webhook(const cli::WebhookOptions& options);

}  // namespace hekla
