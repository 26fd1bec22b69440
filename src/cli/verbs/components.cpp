// hekla controllers, scheduler, webhook: one component each against somebody's cluster. Called as
// vc-controller-manager, vc-scheduler or vc-webhook-manager the binary is the verb that stands in
// for it.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/component_flags.h"
#include "cli/component_options.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

constexpr const char* kThreads = "one loop serves all objects of a kind, in batches";
constexpr const char* kAllNodes = "every node is looked at";

void add_controllers_flags(CLI::App& command, ControllersOptions& options) {
  command
      .add_flag("--inherit-owner-annotations", options.inherit_owner_annotations,
                "pod groups of plain pods take the annotations of their owners")
      ->capture_default_str();
  command
      .add_option("--controllers", options.controllers,
                  "which ones run: '*' for all, 'name' or '+name' picks, '-name' leaves out")
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option("--max-requeue-num", options.max_requeue,
                  "failures in a row after which a job is ended; -1: never")
      ->capture_default_str();
  const IdleFlag idle[] = {
      {"--worker-threads", kThreads},
      {"--worker-threads-for-podgroup", kThreads},
      {"--worker-threads-for-queue", kThreads},
      {"--worker-threads-for-gc", kThreads},
  };
  add_idle_flags(command, options, idle);
}

void add_scheduler_flags(CLI::App& command, SchedulerOptions& options) {
  command.add_option("--scheduler-conf", options.configuration,
                     "configuration file, read again when it changes (default: the ConfigMap "
                     "volcano-system/volcano-scheduler-configmap)");
  command.add_option("--default-queue", options.default_queue, "queue of groups that name none")
      ->capture_default_str();
  command
      .add_option("--schedule-period", options.period,
                  "a session runs at least this often while something is pending")
      ->capture_default_str();
  command
      .add_option("--node-selector", options.node_selector,
                  "LABEL:VALUE of the nodes to use; repeatable, any one suffices (default: all)")
      ->delimiter(',');
  command
      .add_option("--scheduler-sharding-mode", options.sharding_mode,
                  "none; nodes are not divided among schedulers")
      ->check(CLI::IsMember({"none"}));
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
  add_idle_flags(command, options, idle);
}

void declare_controllers(CLI::App& app, Context& context) {
  auto options = std::make_shared<ControllersOptions>();
  options->lease_name = "vc-controller-manager";
  options->metrics_address = ":8081";
  CLI::App* command =
      app.add_subcommand("controllers", "run Volcano's controllers against a cluster");
  add_shared_flags(*command, *options);
  add_election_flags(*command, *options);
  add_controllers_flags(*command, *options);
  command->callback([&context, options] { context.exit_code = context.controllers(*options); });
}

void declare_scheduler(CLI::App& app, Context& context) {
  auto options = std::make_shared<SchedulerOptions>();
  options->lease_name = "vc-scheduler";
  options->metrics_address = ":8080";
  CLI::App* command = app.add_subcommand("scheduler", "run the scheduler against a cluster");
  add_shared_flags(*command, *options);
  add_election_flags(*command, *options);
  add_scheduler_flags(*command, *options);
  command->callback([&context, options] { context.exit_code = context.scheduler(*options); });
}

void declare_webhook(CLI::App& app, Context& context) {
  auto options = std::make_shared<WebhookOptions>();
  CLI::App* command =
      app.add_subcommand("webhook", "serve admission for Volcano's kinds to a cluster");
  add_shared_flags(*command, *options);
  command->add_option("--listen-address", options->listen_address, "address to listen on")
      ->capture_default_str();
  command->add_option("--port", options->port, "port to listen on")->capture_default_str();
  command
      ->add_option("--enabled-admission", options->enabled,
                   "paths to serve, e.g. /jobs/mutate,/jobs/validate (default: all)")
      ->delimiter(',');
  command->add_option(
      "--tls-cert-file", options->tls_cert_file,
      "the server's certificate (default: one of its own, kept in a Secret and renewed)");
  command->add_option("--tls-private-key-file", options->tls_key_file, "its private key");
  command->add_option("--ca-cert-file", options->ca_cert_file, "the authority that signed it");
  command->add_option("--webhook-namespace", options->ns, "namespace of service and Secret")
      ->capture_default_str();
  command
      ->add_option("--webhook-service-name", options->service_name,
                   "service the cluster reaches this server by")
      ->capture_default_str();
  command->add_option(
      "--webhook-url", options->url,
      "https://HOST:PORT the cluster reaches this server at, in place of the service");
  command->add_option("--webhook-secret-name", options->secret_name, "Secret of the certificate")
      ->capture_default_str();
  command->add_option("--webhook-ip", options->ip_addresses,
                      "IP addresses for the certificate, besides the service's names; repeatable");
  command->add_option(
      "--admission-conf", options->admission_conf,
      "file of resource groups (default: the ConfigMap volcano-admission-configmap)");
  command->add_option("--max-queue-depth", options->max_queue_depth, "levels of queues below root")
      ->capture_default_str();
  command->add_flag("--enable-queue-allocated-pods-check", options->queue_allocated_pods_check,
                    "queues with allocated pods cannot be deleted");
  command
      ->add_flag("--enable-root-queue-protection", options->root_queue_protection,
                 "the amounts of the queue root cannot be changed")
      ->capture_default_str();
  const IdleFlag idle[] = {
      {"--graceful-shutdown-time", "requests under way are answered before it ends"}};
  add_idle_flags(*command, *options, idle);
  command->callback([&context, options] { context.exit_code = context.webhook(*options); });
}

void declare(CLI::App& app, Context& context) {
  declare_controllers(app, context);
  declare_scheduler(app, context);
  declare_webhook(app, context);
}

}  // namespace

extern const Verb verb_components;
const Verb verb_components{"components", declare};

}  // namespace hekla::cli
