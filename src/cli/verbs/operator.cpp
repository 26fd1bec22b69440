// hekla operator: scheduler, controllers and admission for somebody's cluster in one process.
// Called as /manager the binary is the Training Operator: the same with that program's flags and
// parts.
#include <memory>

#include "cli/component_flags.h"
#include "cli/component_options.h"
#include "cli/shared_flags.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

std::vector<Flag> connection_flags(OperatorOptions& options) {
  return {
      Flag("--kubeconfig", options.kubeconfig,
           "the cluster and how to log in (default: the cluster this pod runs in)"),
      Flag("--master", options.master, "URL of the API server"),
      log_level_flag(options.log_level),
  };
}

std::vector<Flag> election_times(OperatorOptions& options) {
  return {
      Flag("--leader-elect-lease-duration", options.lease_duration,
           "others take over when the Lease was not renewed for so long"),
      Flag("--leader-elect-renew-deadline", options.renew_deadline,
           "a leader that cannot renew for so long ends"),
      Flag("--leader-elect-retry-period", options.retry_period, "between two tries"),
  };
}

std::vector<Flag> operator_flags(OperatorOptions& options) {
  std::vector<Flag> flags = connection_flags(options);
  append(
      flags,
      {
          Flag("--namespace", options.ns,
               "namespace of the Lease, of the webhooks' Service and Secret and of the "
               "ConfigMaps (default: the pod's, else hekla-system)"),
          Flag("--components", options.parts, "what runs")
              .split_at(',')
              .with(one_of({"scheduler", "volcano", "training", "workbench", "webhook"})),
          Flag("--listen-address", options.metrics_address,
               "where to serve /healthz, /readyz and /metrics"),
          Flag("--leader-elect", options.leader_elect,
               "only one of several replicas works; all of them answer reviews"),
          Flag("--shutdown-delay", options.linger,
               "reviews are answered for so long after the signal to end"),
          Flag("--scheduler-name", options.scheduler_names, "schedulers of ours; repeatable"),
          Flag("--feature-gates", options.feature_gates, "NAME=true|false,..."),
          Flag("--gang-scheduler", options.training.gang_scheduler,
               "who places the pods of a training job together; none: they are placed one by "
               "one"),
          Flag("--pytorch-init-container-image", options.training.pytorch_init_image,
               "in which a PyTorch worker waits for its master"),
          Flag("--mpi-kubectl-delivery-image", options.training.kubectl_image,
               "which brings kubectl to the launcher of an MPIJob (default: upstream's)"),
          Flag("--webhook-port", options.webhook.port, "port of admission"),
          Flag("--webhook-listen-address", options.webhook.listen_address, "address of admission"),
      });
  append(flags, election_times(options));
  append(flags, own_flags(options.scheduler));
  append(flags, own_flags(options.controllers));
  append(flags, own_flags(options.webhook));
  return flags;
}

std::vector<Flag> training_operator_flags(OperatorOptions& options) {
  constexpr const char* kLog = "logs go to stderr, a line each";
  const IdleFlag idle[] = {
      {"--controller-threads", "one loop serves all objects of a kind, in batches"},
      {"--kube-api-qps", "as many requests are under way as the server answers quickly"},
      {"--kube-api-burst", "as many requests are under way as the server answers quickly"},
      {"--pytorch-init-container-template-file", "the container is described here"},
      {"--zap-devel", kLog, false},
      {"--zap-encoder", kLog},
      {"--zap-log-level", kLog},
      {"--zap-stacktrace-level", kLog},
      {"--zap-time-encoding", kLog},
  };
  std::vector<Flag> flags = connection_flags(options);
  append(
      flags,
      {
          Flag("--metrics-bind-address", options.metrics_address, "where to serve /metrics"),
          Flag("--health-probe-bind-address", options.healthz_address,
               "where to serve /healthz and /readyz"),
          Flag("--leader-elect", options.leader_elect, "only one of several replicas works"),
          Flag("--leader-election-id", options.lease_name, "name of the Lease"),
          Flag("--enable-scheme", options.training.kinds,
               "kinds (TFJob, ...) that run; repeatable (default: all)"),
          Flag("--gang-scheduler-name", options.training.gang_scheduler,
               "who places the pods of a job together (default: nobody)"),
          Flag("--pytorch-init-container-image", options.training.pytorch_init_image,
               "in which a PyTorch worker waits for its master"),
          Flag("--pytorch-init-container-max-tries", options.training.pytorch_init_tries,
               "of that container"),
          Flag("--mpi-kubectl-delivery-image", options.training.kubectl_image,
               "which brings kubectl to the launcher of an MPIJob (default: upstream's)"),
          Flag("--webhook-server-port", options.webhook.port, "port of admission"),
          Flag("--webhook-service-name", options.webhook.service_name,
               "service the cluster reaches this server by"),
          Flag("--webhook-secret-name", options.webhook.secret_name, "Secret of the certificate"),
      });
  append(flags, idle_flags(options, idle));
  return flags;
}

std::shared_ptr<OperatorOptions> usual_operator() {
  auto options = std::make_shared<OperatorOptions>();
  options->lease_name = "hekla-operator";
  options->metrics_address = ":8080";
  options->healthz = options->metrics = true;
  options->training.gang_scheduler = "volcano";
  options->webhook.service_name = "hekla-webhook";
  options->webhook.secret_name = "hekla-webhook-certificate";
  return options;
}

std::shared_ptr<OperatorOptions> usual_training_operator() {
  auto options = std::make_shared<OperatorOptions>();
  options->name = "training-operator";
  options->parts = {"training", "webhook"};
  options->leader_elect = false;
  options->lease_name = "1ca428e5.training-operator.kubeflow.org";
  options->metrics_address = ":8080";
  options->healthz_address = ":8081";
  options->healthz = options->metrics = true;
  options->linger = "0s";
  options->webhook.port = 9443;
  options->webhook.service_name = "training-operator";
  options->webhook.secret_name = "training-operator-webhook-cert";
  for (const char* kind : {"tfjob", "pytorchjob", "xgboostjob", "paddlejob", "jaxjob"})
    options->webhook.enabled.push_back(std::string("/validate-kubeflow-org-v1-") + kind);
  return options;
}

std::vector<Command> operator_commands(const Context& context) {
  auto all = usual_operator(), training = usual_training_operator();
  Command both{
      .name = "operator",
      .summary = "run scheduler, controllers and admission against a cluster",
      .flags = operator_flags(*all),
      .run =
          [&context, all] {
            // Both at the one address.
            all->healthz_address = all->metrics_address;
            return context.operate(*all);
          },
  };
  Command alone{
      .name = "training-operator",
      .summary = "run the training controllers against a cluster",
      .flags = training_operator_flags(*training),
      .run =
          [&context, training] {
            // Neither TrainJobs nor JobSets: those have operators of their own.
            std::vector<std::string>& kinds = training->training.kinds;
            if (kinds.empty())
              kinds = {"TFJob", "PyTorchJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob"};
            return context.operate(*training);
          },
  };
  std::vector<Command> commands{std::move(both), std::move(alone)};
  for (Command& command : commands) command.version = version_text();
  return commands;
}

}  // namespace

extern const Verb verb_operator;
const Verb verb_operator{"operator", operator_commands};

}  // namespace hekla::cli
