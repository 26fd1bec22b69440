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
  append(flags, {
                    Flag("--inherit-owner-annotations", options.inherit_owner_annotations,
                         "pod groups of plain pods take the annotations of their owners"),
                    Flag("--controllers", options.controllers,
                         "which ones run: '*' for all, 'name' or '+name' picks, '-name' leaves out")
                        .split_at(','),
                    Flag("--max-requeue-num", options.max_requeue,
                         "failures in a row after which a job is ended; -1: never"),
                });
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
  append(flags,
         {
             Flag("--scheduler-conf", options.configuration,
                  "configuration file, read again when it changes (default: the ConfigMap "
                  "volcano-system/volcano-scheduler-configmap)"),
             Flag("--default-queue", options.default_queue, "queue of groups that name none"),
             Flag("--schedule-period", options.period,
                  "a session runs at least this often while something is pending"),
             Flag("--node-selector", options.node_selector,
                  "LABEL:VALUE of the nodes to use; repeatable, any one suffices (default: all)")
                 .split_at(','),
             Flag("--scheduler-sharding-mode", options.sharding_mode,
                  "nodes are not divided among schedulers")
                 .with(one_of({"none"})),
         });
  append(flags, idle_flags(options, idle));
  return flags;
}

std::vector<Flag> webhook_flags(WebhookOptions& options) {
  const IdleFlag idle[] = {
      {"--graceful-shutdown-time", "requests under way are answered before it ends"}};
  std::vector<Flag> flags = component_flags(options);
  append(
      flags,
      {
          Flag("--listen-address", options.listen_address, "address to listen on"),
          Flag("--port", options.port, "port to listen on"),
          Flag("--enabled-admission", options.enabled,
               "paths to serve, e.g. /jobs/mutate,/jobs/validate (default: all)")
              .split_at(','),
          Flag("--tls-cert-file", options.tls_cert_file,
               "the server's certificate (default: one of its own, kept in a Secret and renewed)"),
          Flag("--tls-private-key-file", options.tls_key_file, "its private key"),
          Flag("--ca-cert-file", options.ca_cert_file, "the authority that signed it"),
          Flag("--webhook-namespace", options.ns, "namespace of service and Secret"),
          Flag("--webhook-service-name", options.service_name,
               "service the cluster reaches this server by"),
          Flag("--webhook-url", options.url,
               "https://HOST:PORT the cluster reaches this server at, in place of the service"),
          Flag("--webhook-secret-name", options.secret_name, "Secret of the certificate"),
          Flag("--webhook-owner", options.owner,
               "ClusterRole that the registrations belong to: they go when it goes"),
          Flag("--webhook-ip", options.ip_addresses,
               "IP addresses for the certificate, besides the service's names; repeatable"),
          Flag("--admission-conf", options.admission_conf,
               "file of resource groups (default: the ConfigMap volcano-admission-configmap)"),
          Flag("--max-queue-depth", options.max_queue_depth, "levels of queues below root"),
          Flag("--enable-queue-allocated-pods-check", options.queue_allocated_pods_check,
               "queues with allocated pods cannot be deleted"),
          Flag("--enable-root-queue-protection", options.root_queue_protection,
               "the amounts of the queue root cannot be changed"),
      });
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
