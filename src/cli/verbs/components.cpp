// hekla controllers, scheduler, webhook: one component each against somebody's cluster. Called as
// vc-controller-manager, vc-scheduler or vc-webhook-manager the binary is the verb that stands in for
// it.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/component_options.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

void add_shared_flags(CLI::App& command, ComponentOptions& options) {
  command.add_option("--kubeconfig", options.kubeconfig,
                     "the cluster and how to log in (default: the cluster this pod runs in)");
  command.add_option("--master", options.master, "URL of the API server");
  command.add_option("--scheduler-name", options.scheduler_names, "schedulers of ours; repeatable")
      ->capture_default_str();
  command.add_flag("--enable-healthz", options.healthz, "answer /healthz");
  command.add_option("--healthz-address", options.healthz_address, "where to answer /healthz")
      ->capture_default_str();
  command.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  command.add_option("-v,--v", options.unused, "accepted; see --log-level");
  for (const char* flag : {"--kube-api-qps", "--kube-api-burst"})
    command.add_option(flag, options.unused,
                       "accepted; writes are sent in batches, without a rate limit");
  command.add_option("--logtostderr", options.unused, "accepted; logs go to stderr")
      ->expected(0, 1);
}

void add_election_flags(CLI::App& command, ComponentOptions& options) {
  command.add_flag("--leader-elect", options.leader_elect,
                   "only one of several replicas works, the others wait (--leader-elect=false: no)")
      ->capture_default_str();
  command.add_option("--leader-elect-resource-namespace", options.lease_namespace,
                     "namespace of the Lease")
      ->capture_default_str();
  command.add_option("--leader-elect-resource-name", options.lease_name, "name of the Lease")
      ->capture_default_str();
  command.add_option("--leader-elect-lease-duration", options.lease_duration,
                     "others take over when the Lease was not renewed for so long")
      ->capture_default_str();
  command.add_option("--leader-elect-renew-deadline", options.renew_deadline,
                     "a leader that cannot renew for so long ends")
      ->capture_default_str();
  command.add_option("--leader-elect-retry-period", options.retry_period, "between two tries")
      ->capture_default_str();
  command.add_flag("--enable-metrics", options.metrics, "serve /metrics");
  command.add_option("--listen-address", options.metrics_address, "where to serve /metrics")
      ->capture_default_str();
}

void declare_controllers(CLI::App& app, Context& context) {
  auto options = std::make_shared<ControllersOptions>();
  options->lease_name = "vc-controller-manager";
  options->metrics_address = ":8081";
  CLI::App* command =
      app.add_subcommand("controllers", "run Volcano's controllers against a cluster");
  add_shared_flags(*command, *options);
  add_election_flags(*command, *options);
  command->add_flag("--inherit-owner-annotations", options->inherit_owner_annotations,
                    "pod groups of plain pods take the annotations of their owners")
      ->capture_default_str();
  command->callback([&context, options] { context.exit_code = context.controllers(*options); });
}

void declare_scheduler(CLI::App& app, Context& context) {
  auto options = std::make_shared<SchedulerOptions>();
  options->lease_name = "vc-scheduler";
  options->metrics_address = ":8080";
  CLI::App* command = app.add_subcommand("scheduler", "run the scheduler against a cluster");
  add_shared_flags(*command, *options);
  add_election_flags(*command, *options);
  command->add_option("--scheduler-conf", options->configuration,
                      "configuration file, read again when it changes (default: the ConfigMap "
                      "volcano-system/volcano-scheduler-configmap)");
  command->add_option("--default-queue", options->default_queue, "queue of groups that name none")
      ->capture_default_str();
  command->add_option("--schedule-period", options->period,
                      "a session runs at least this often while something is pending")
      ->capture_default_str();
  command->callback([&context, options] { context.exit_code = context.scheduler(*options); });
}

void declare_webhook(CLI::App& app, Context& context) {
  auto options = std::make_shared<WebhookOptions>();
  CLI::App* command = app.add_subcommand("webhook", "serve admission for Volcano's kinds to a cluster");
  add_shared_flags(*command, *options);
  command->add_option("--listen-address", options->listen_address, "address to listen on")
      ->capture_default_str();
  command->add_option("--port", options->port, "port to listen on")->capture_default_str();
  command->add_option("--enabled-admission", options->enabled,
                      "paths to serve, e.g. /jobs/mutate,/jobs/validate (default: all)")
      ->delimiter(',');
  command->add_option("--tls-cert-file", options->tls_cert_file,
                      "the server's certificate (default: one of its own, kept in a Secret and renewed)");
  command->add_option("--tls-private-key-file", options->tls_key_file, "its private key");
  command->add_option("--ca-cert-file", options->ca_cert_file, "the authority that signed it");
  command->add_option("--webhook-namespace", options->ns, "namespace of service and Secret")
      ->capture_default_str();
  command->add_option("--webhook-service-name", options->service_name,
                      "service the cluster reaches this server by")
      ->capture_default_str();
  command->add_option("--webhook-url", options->url,
                      "https://HOST:PORT the cluster reaches this server at, in place of the service");
  command->add_option("--webhook-secret-name", options->secret_name, "Secret of the certificate")
      ->capture_default_str();
  command->add_option("--webhook-ip", options->ip_addresses,
                      "IP addresses for the certificate, besides the service's names; repeatable");
  command->add_option("--admission-conf", options->admission_conf,
                      "file of resource groups (default: the ConfigMap volcano-admission-configmap)");
  command->add_option("--max-queue-depth", options->max_queue_depth, "levels of queues below root")
      ->capture_default_str();
  command->add_flag("--enable-queue-allocated-pods-check", options->queue_allocated_pods_check,
                    "queues with allocated pods cannot be deleted");
  command->add_flag("--enable-root-queue-protection", options->root_queue_protection,
                    "the amounts of the queue root cannot be changed")
      ->capture_default_str();
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
