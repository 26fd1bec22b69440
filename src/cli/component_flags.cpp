#include "cli/component_flags.h"

#include <algorithm>
#include <cstdlib>

#include "base/build_info.h"
#include "base/nearest.h"
#include "cli/shared_flags.h"

namespace hekla::cli {
namespace {

constexpr int kDebugVerbosity = 5;  // klog's level from which every step is told

constexpr const char* kStderr = "logs go to stderr, a line each";
constexpr const char* kBatches = "writes are sent in batches, without a rate limit";

constexpr IdleFlag kLogFlags[] = {
    {"--logtostderr", kStderr, false},
    {"--alsologtostderr", kStderr, false},
    {"--stderrthreshold", kStderr},
    {"--log-dir", kStderr},
    {"--log-file", kStderr},
    {"--log-file-max-size", kStderr},
    {"--log-flush-frequency", "every line is written at once"},
    {"--log-backtrace-at", "there are no backtraces in the log"},
    {"--add-dir-header", kStderr, false},
    {"--skip-headers", kStderr, false},
    {"--skip-log-headers", kStderr, false},
    {"--one-output", kStderr, false},
    {"--vmodule", "one level holds for all modules"},
    {"--kube-api-qps", kBatches},
    {"--kube-api-burst", kBatches},
};

bool contains(std::span<const std::string> list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

std::string version_text() {
  const BuildInfo& build = build_info();
  return std::string("hekla ") + build.version + " (commit " + build.commit + ")";
}

std::vector<Flag> idle_flags(ComponentOptions& options, std::span<const IdleFlag> flags) {
  std::vector<Flag> rows;
  for (const IdleFlag& flag : flags) {
    auto taken = [&options, flag] { options.idle.emplace_back(flag.name, flag.why); };
    std::string help = std::string("accepted; ") + flag.why;
    Flag row = flag.takes_value ? Flag::call(
                                      flag.name, [taken](const std::string&) { taken(); }, help)
                                : Flag::call_switch(flag.name, taken, help);
    rows.push_back(std::move(row).in_group("Accepted for compatibility"));
  }
  return rows;
}

std::vector<Flag> component_flags(ComponentOptions& options) {
  std::vector<Flag> flags{
      Flag("--kubeconfig", options.kubeconfig,
           "the cluster and how to log in (default: the cluster this pod runs in)"),
      Flag("--master", options.master, "URL of the API server"),
      Flag("--scheduler-name", options.scheduler_names, "schedulers of ours; repeatable"),
      Flag("--enable-healthz", options.healthz, "answer /healthz"),
      Flag("--healthz-address", options.healthz_address, "where to answer /healthz"),
      Flag::call(
          "-v,--v",
          [&options](const std::string& level) {
            if (std::atoi(level.c_str()) >= kDebugVerbosity) options.log_level = "debug";
          },
          "verbosity as klog has it: from 5 on --log-level debug")
          .with(between(0, 100)),
      log_level_flag(options.log_level),
  };
  append(flags, idle_flags(options, kLogFlags));
  return flags;
}

std::vector<Flag> election_flags(ComponentOptions& options) {
  constexpr const char* plain = "health and metrics are served over plain HTTP";
  const IdleFlag idle[] = {
      {"--leader-elect-resource-lock", "the lock is a Lease"},
      {"--ca-cert-file", plain},
      {"--tls-cert-file", plain},
      {"--tls-private-key-file", plain},
  };
  std::vector<Flag> flags{
      Flag("--leader-elect", options.leader_elect,
           "only one of several replicas works, the others wait (--leader-elect=false: no)"),
      Flag("--lock-object-namespace", options.lease_namespace,
           "the older name of --leader-elect-resource-namespace"),
      Flag("--leader-elect-resource-namespace", options.lease_namespace, "namespace of the Lease"),
      Flag("--leader-elect-resource-name", options.lease_name, "name of the Lease"),
      Flag("--leader-elect-lease-duration", options.lease_duration,
           "others take over when the Lease was not renewed for so long"),
      Flag("--leader-elect-renew-deadline", options.renew_deadline,
           "a leader that cannot renew for so long ends"),
      Flag("--leader-elect-retry-period", options.retry_period, "between two tries"),
      Flag("--enable-metrics", options.metrics, "serve /metrics"),
      Flag("--listen-address", options.metrics_address, "where to serve /metrics"),
      Flag("--feature-gates", options.feature_gates, "NAME=true|false,..."),
  };
  append(flags, idle_flags(options, idle));
  return flags;
}

std::vector<Flag> own_flags(ControllersOptions& options) {
  return {
      Flag("--inherit-owner-annotations", options.inherit_owner_annotations,
           "pod groups of plain pods take the annotations of their owners"),
      Flag("--controllers", options.controllers,
           "which ones run: '*' for all, 'name' or '+name' picks, '-name' leaves out")
          .split_at(','),
      Flag("--max-requeue-num", options.max_requeue,
           "failures in a row after which a job is ended; -1: never"),
  };
}

std::vector<Flag> own_flags(SchedulerOptions& options) {
  return {
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
  };
}

std::vector<Flag> own_flags(WebhookOptions& options) {
  return {
      Flag("--enabled-admission", options.enabled,
           "paths to serve, e.g. /jobs/mutate,/jobs/validate (default: all)")
          .split_at(','),
      Flag("--tls-cert-file", options.tls_cert_file,
           "the server's certificate (default: one of its own, kept in a Secret and renewed)"),
      Flag("--tls-private-key-file", options.tls_key_file, "its private key"),
      Flag("--ca-cert-file", options.ca_cert_file, "the authority that signed it"),
      Flag("--webhook-service-name", options.service_name,
           "service the cluster reaches this server by"),
      Flag("--webhook-owner", options.owner,
           "ClusterRole that the registrations belong to: they go when it goes"),
      Flag("--webhook-url", options.url,
           "https://HOST:PORT the cluster reaches this server at, in place of the service"),
      Flag("--webhook-secret-name", options.secret_name, "Secret of the certificate"),
      Flag("--webhook-ip", options.ip_addresses,
           "IP addresses for the certificate, besides the service's names; repeatable"),
      Flag("--admission-conf", options.admission_conf,
           "file of resource groups (default: the ConfigMap volcano-admission-configmap)"),
      Flag("--max-queue-depth", options.max_queue_depth, "levels of queues below root"),
      Flag("--enable-queue-allocated-pods-check", options.queue_allocated_pods_check,
           "queues with allocated pods cannot be deleted"),
      Flag("--enable-root-queue-protection", options.root_queue_protection,
           "the amounts of the queue root cannot be changed"),
  };
}

void normalize_component_arguments(std::vector<std::string>& arguments) {
  std::erase(arguments, "2>&1");
  for (std::string& argument : arguments) {
    if (argument.starts_with("-v=")) argument.insert(0, "-");
    if (!argument.starts_with("--")) continue;
    auto end = argument.begin() +
               static_cast<std::ptrdiff_t>(std::min(argument.find('='), argument.size()));
    std::replace(argument.begin(), end, '_', '-');
  }
}

Result<std::map<std::string, bool>> parse_feature_gates(const std::string& text) {
  std::map<std::string, bool> gates;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    std::string item = text.substr(begin, end - begin);
    begin = end + 1;
    std::size_t equals = item.find('=');
    std::string value = equals == std::string::npos ? "" : item.substr(equals + 1);
    if (value != "true" && value != "false")
      return fail(Code::bad_request,
                  "--feature-gates: \"" + item + "\" is not of the form NAME=true or NAME=false");
    gates[item.substr(0, equals)] = value == "true";
  }
  return gates;
}

Result<std::vector<std::string>> disabled_controllers(std::span<const std::string> list,
                                                      std::span<const std::string> known,
                                                      std::span<const std::string> absent) {
  std::vector<std::string> on, off;
  bool all = true;  // unless some are picked
  bool star = contains(list, "*");
  for (const std::string& item : list) {
    if (item == "*") continue;
    bool minus = item.starts_with('-');
    std::string name = minus || item.starts_with('+') ? item.substr(1) : item;
    if (!contains(known, name) && !contains(absent, name)) {
      std::string near = nearest_name(name, known);
      return fail(Code::bad_request, "--controllers: there is no controller \"" + name + "\"" +
                                         (near.empty() ? "" : ", did you mean \"" + near + "\"?"));
    }
    if (contains(minus ? on : off, name))
      return fail(Code::bad_request,
                  "controllers option " + item + " cannot have both '-' and '+' prefixes");
    (minus ? off : on).push_back(name);
    all = all && minus;
  }
  std::vector<std::string> disabled;
  for (const std::string& name : known)
    if (contains(off, name) || (!star && !all && !contains(on, name))) disabled.push_back(name);
  return disabled;
}

}  // namespace hekla::cli
