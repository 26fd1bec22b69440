#include "cli/component_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/build_info.h"
#include "base/nearest.h"

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

std::string version_text() {
  const BuildInfo& build = build_info();
  return std::string("hekla ") + build.version + " (commit " + build.commit + ")";
}

bool contains(std::span<const std::string> list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

void add_idle_flags(CLI::App& command, ComponentOptions& options, std::span<const IdleFlag> flags) {
  for (const IdleFlag& flag : flags) {
    auto taken = [&options, flag] { options.idle.emplace_back(flag.name, flag.why); };
    std::string help = std::string("accepted; ") + flag.why;
    CLI::Option* option =
        flag.takes_value
            ? command.add_option_function<std::string>(
                  flag.name, [taken](const std::string&) { taken(); }, help)
            : command.add_flag_function(flag.name, [taken](std::int64_t) { taken(); }, help);
    option->group("Accepted for compatibility");
  }
}

void add_shared_flags(CLI::App& command, ComponentOptions& options) {
  command.set_version_flag("--version", version_text(), "print the version");
  command.add_option("--kubeconfig", options.kubeconfig,
                     "the cluster and how to log in (default: the cluster this pod runs in)");
  command.add_option("--master", options.master, "URL of the API server");
  command.add_option("--scheduler-name", options.scheduler_names, "schedulers of ours; repeatable")
      ->capture_default_str();
  command.add_flag("--enable-healthz", options.healthz, "answer /healthz");
  command.add_option("--healthz-address", options.healthz_address, "where to answer /healthz")
      ->capture_default_str();
  command.add_option_function<int>(
      "-v,--v",
      [&options](int level) {
        if (level >= kDebugVerbosity) options.log_level = "debug";
      },
      "verbosity as klog has it: from 5 on --log-level debug");
  command.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  add_idle_flags(command, options, kLogFlags);
}

void add_election_flags(CLI::App& command, ComponentOptions& options) {
  command
      .add_flag("--leader-elect", options.leader_elect,
                "only one of several replicas works, the others wait (--leader-elect=false: no)")
      ->capture_default_str();
  command.add_option("--lock-object-namespace", options.lease_namespace,
                     "the older name of --leader-elect-resource-namespace");
  command
      .add_option("--leader-elect-resource-namespace", options.lease_namespace,
                  "namespace of the Lease")
      ->capture_default_str();
  command.add_option("--leader-elect-resource-name", options.lease_name, "name of the Lease")
      ->capture_default_str();
  command
      .add_option("--leader-elect-lease-duration", options.lease_duration,
                  "others take over when the Lease was not renewed for so long")
      ->capture_default_str();
  command
      .add_option("--leader-elect-renew-deadline", options.renew_deadline,
                  "a leader that cannot renew for so long ends")
      ->capture_default_str();
  command.add_option("--leader-elect-retry-period", options.retry_period, "between two tries")
      ->capture_default_str();
  command.add_flag("--enable-metrics", options.metrics, "serve /metrics");
  command.add_option("--listen-address", options.metrics_address, "where to serve /metrics")
      ->capture_default_str();
  command.add_option("--feature-gates", options.feature_gates, "NAME=true|false,...");
  constexpr const char* plain = "health and metrics are served over plain HTTP";
  const IdleFlag idle[] = {
      {"--leader-elect-resource-lock", "the lock is a Lease"},
      {"--ca-cert-file", plain},
      {"--tls-cert-file", plain},
      {"--tls-private-key-file", plain},
  };
  add_idle_flags(command, options, idle);
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
