// One component of the platform against somebody's cluster, over REST, until a signal.
#pragma once

#include <memory>

#include "base/metrics.h"
#include "cli/component_options.h"
#include "controllers/volcano_controllers.h"
#include "kube/http.h"
#include "main/cluster/node_filter.h"
#include "scheduler/loop/scheduler.h"

namespace hekla {

int run_controllers(const cli::ControllersOptions& options);
int run_scheduler(const cli::SchedulerOptions& options);
int run_webhook(const cli::WebhookOptions& options);

// Parts of these, for a process that has several of them. Mistakes in the flags are bad_request.
Result<controllers::VolcanoControllers::Options> controllers_options(
    const cli::ControllersOptions& options);

// A scheduler with what it stands on; destroyed on the client's executor, or while it does not run.
struct SchedulerWork {
  std::unique_ptr<NodeFilter> some_nodes;  // null: it sees all
  std::unique_ptr<kube::Http> http;
  std::unique_ptr<scheduler::Scheduler> scheduler;
};
// `chosen` has what no flag says.
Result<SchedulerWork> make_scheduler(const cli::SchedulerOptions& options, kube::Client& client,
                                     scheduler::Options chosen, Metrics* metrics);

}  // namespace hekla
