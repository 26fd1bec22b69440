// hekla controllers, scheduler, webhook: one component each against somebody's cluster. Called as
// vc-controller-manager, vc-scheduler or vc-webhook-manager the binary is the verb that stands in
// for it.
#include <memory>

#include "cli/component_flags.h"
#include "cli/component_options.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

constexpr const char* kThreads = "one loop serves all objects of a kind, in batches";
constexpr const char* kAllNodes = "every node is looked at";

std::vector<Flag> controllers_flags(ControllersOptions& options) {
  const IdleFlag idle[] = {
      {"--worker-threads", kThreads},
      {"--worker-threads-for-podgroup", kThreads},
      {"--worker-threads-for-queue", kThreads},
      {"--worker-threads-for-gc", kThreads},
  };
  std::vector<Flag> flags = component_flags(options);
  append(flags, election_flags(options));
  append(flags, own_flags(options));
  append(flags, idle_flags(options, idle));
  return flags;
}

std::vector<Flag> scheduler_flags(SchedulerOptions& options) {
  const IdleFlag idle[] = {
      {"--scheduler-sharding-name", "nodes are not divided among schedulers"},
      {"--minimum-feasible-nodes", kAllNodes},
      {"--minimum-percentage-nodes-to-find", kAllNodes},
      {"--percentage-nodes-to-find", kAllNodes},
      {"--node-worker-threads", kThreads},
      {"--gate-removal-worker-num", kThreads},
      {"--plugins-dir", "plugins of Go cannot be loaded; see the plugin extender"},
      {"--csi-storage", "volumes are always looked at", false},
      {"--priority-class", "priority classes are always obeyed", false},
      {"--resync-period", "watches tell of every change"},
      {"--resource-sync-timeout", "the first session waits for the first lists"},
      {"--ignored-provisioners", "claims are no resource of pods"},
      {"--disable-default-scheduler-config", "a bad text changes nothing and is told", false},
      {"--enable-pprof", "there is no profile to serve", false},
      {"--cache-dumper", "hekla explain and hekla up --record show what it knows", false},
      {"--cache-dump-dir", "hekla explain and hekla up --record show what it knows"},
  };
  std::vector<Flag> flags = component_flags(options);
  append(flags, election_flags(options));
  append(flags, own_flags(options));
  append(flags, idle_flags(options, idle));
  return flags;
}

std::vector<Flag> webhook_flags(WebhookOptions& options) {
  const IdleFlag idle[] = {
      {"--graceful-shutdown-time", "requests under way are answered before it ends"}};
  std::vector<Flag> flags = component_flags(options);
  append(flags, {Flag("--listen-address", options.listen_address, "address to listen on"),
                 Flag("--port", options.port, "port to listen on"),
                 Flag("--webhook-namespace", options.ns, "namespace of service and Secret")});
  append(flags, own_flags(options));
  append(flags, idle_flags(options, idle));
  return flags;
}

std::vector<Command> component_commands(const Context& context) {
  auto controllers = std::make_shared<ControllersOptions>();
  controllers->lease_name = "vc-controller-manager";
  controllers->metrics_address = ":8081";
  auto scheduler = std::make_shared<SchedulerOptions>();
  scheduler->lease_name = "vc-scheduler";
  scheduler->metrics_address = ":8080";
  auto webhook = std::make_shared<WebhookOptions>();
  std::vector<Command> commands{
      {
          .name = "controllers",
          .summary = "run Volcano's controllers against a cluster",
          .flags = controllers_flags(*controllers),
          .run = [&context, controllers] { return context.controllers(*controllers); },
      },
      {
          .name = "scheduler",
          .summary = "run the scheduler against a cluster",
          .flags = scheduler_flags(*scheduler),
          .run = [&context, scheduler] { return context.scheduler(*scheduler); },
      },
      {
          .name = "webhook",
          .summary = "serve admission for Volcano's kinds to a cluster",
          .flags = webhook_flags(*webhook),
          .run = [&context, webhook] { return context.webhook(*webhook); },
      },
  };
  for (Command& command : commands) command.version = version_text();
  return commands;
}

}  // namespace

extern const Verb verb_components;
const Verb verb_components{"components", component_commands};

}  // namespace hekla::cli
