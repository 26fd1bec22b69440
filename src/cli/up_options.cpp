#include "cli/up_options.h"

#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/disk.h"
#include "base/environment.h"
#include "base/log.h"
#include "cli/pod_security_flag.h"

namespace hekla::cli {

std::string default_data_dir() {
  if (::geteuid() == 0) return "/var/lib/hekla";
  if (std::string given = environment_variable("XDG_DATA_HOME"); given.starts_with('/'))
    return given + "/hekla";
  const passwd* user = ::getpwuid(::geteuid());
  std::string home = user ? user->pw_dir : environment_variable("HOME");
  return (home.empty() ? "/tmp" : home) + "/.local/share/hekla";
}

void add_up_flags(CLI::App& command, UpOptions& options) {
  options.data_dir = default_data_dir();
  command.add_option("--data-dir", options.data_dir, "where everything durable lives")
      ->capture_default_str();
  command.add_option("--kubeconfig-out", options.kubeconfig_out,
                     "write the admin kubeconfig here too (mode 0600)");
  command.add_option(
      "--listen", options.listen,
      "ADDR:PORT of the API server; port 0 takes a free one (default: 127.0.0.1 and a "
      "free port, kept for later starts)");
  command.add_option("--tls-san", options.tls_sans,
                     "name or address that the API server's certificate shall have as well; "
                     "repeatable (those of this "
                     "machine's interfaces are there when --listen names a wildcard)");
  add_pod_security_flag(command, options.pod_security_default);
  command
      .add_option("--scheduler-conf", options.scheduler_conf,
                  "scheduler configuration file in Volcano's format, read again when it changes; "
                  "without it the ConfigMap volcano-system/volcano-scheduler-configmap decides")
      ->check(CLI::ExistingFile);
  command.add_option("--record", options.record,
                     "write everything the scheduler takes in to this file, for hekla simulate "
                     "--replay");
  command.add_option(
      "--image-map", options.image_maps,
      "'PATTERN=host' runs matching images on this machine's own root file system; "
      "repeatable, '*=host' for all. It may bring what an image has: 'PATTERN=host, "
      "files=DIR:/PATH, venv=DIR, conda=DIR, workdir=/PATH, entrypoint=TEXT, cmd=TEXT, "
      "env=NAME=VALUE, user=NAME'. A FILE of such lines is taken as well");
  command.add_option("--insecure-registry", options.insecure_registries,
                     "HOST[:PORT] of an image registry that is spoken to in plain HTTP; repeatable "
                     "(loopback always is)");
  command.add_option("--registry-mirror", options.registry_mirrors,
                     "'HOST=URL' asks URL first for the images of the registry HOST; repeatable");
  command.add_option("--registry-ca", options.registry_authorities,
                     "'HOST=FILE' trusts the certificate authority in FILE for the registry HOST; "
                     "repeatable");
  command.add_option("--node-name", options.node_name,
                     "name of this machine's Node (default: host name)");
  command.add_option("--node-resources", options.node_resources,
                     "extended resources to declare, e.g. nvidia.com/gpu=4,example.com/fpga=1");
  command
      .add_option(
          "--gpu-replicas", options.gpu_replicas,
          "containers that may share one GPU, found or declared by --node-resources (time slicing)")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option(
      "--runtime", options.runtime,
      "the OCI runtime: crun, runc or a path (default: crun, or runc where that is missing)");
  command.add_flag("--seccomp-default", options.seccomp_default,
                   "the profile RuntimeDefault for pods whose securityContext names none");
  command
      .add_option("--eviction-hard", options.eviction_hard,
                  "what the node must have left, or pods are ended at once: SIGNAL<QUANTITY or "
                  "PERCENT%,... of memory.available, nodefs.available, nodefs.inodesFree, "
                  "imagefs.available, imagefs.inodesFree, pid.available")
      ->capture_default_str();
  command.add_option("--eviction-soft", options.eviction_soft,
                     "the same, but for a while and with a grace period for the pods");
  command.add_option("--eviction-soft-grace-period", options.eviction_soft_grace_period,
                     "how long a soft threshold may be crossed: SIGNAL=DURATION,...");
  command.add_option("--eviction-minimum-reclaim", options.eviction_minimum_reclaim,
                     "how much more than the threshold is won back: SIGNAL=QUANTITY,...");
  command
      .add_option("--eviction-pressure-transition-period", options.eviction_transition_seconds,
                  "seconds until a condition of pressure is withdrawn")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str();
  command
      .add_option("--eviction-max-pod-grace-period", options.eviction_max_pod_grace,
                  "seconds that a pod has at most when a soft threshold ends it")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str();
  command
      .add_option("--image-gc-high-threshold", options.image_gc_high,
                  "percentage of the disk in use at which unused images are removed; 100: never")
      ->capture_default_str();
  command
      .add_option("--image-gc-low-threshold", options.image_gc_low,
                  "percentage of the disk in use down to which they are")
      ->capture_default_str();
  command
      .add_option("--minimum-image-ttl-duration", options.image_minimum_age_seconds,
                  "seconds that an image is kept at least")
      ->check(CLI::Range(0, 31536000))
      ->capture_default_str();
  command
      .add_option("--pod-max-pids", options.pod_max_pids,
                  "processes and threads that a pod may have (0: 32768 for each container)")
      ->check(CLI::Range(0, 4194304))
      ->capture_default_str();
  command.add_flag(
      "--allow-link-local", options.allow_link_local,
      "pods may reach 169.254.0.0/16, where cloud machines hand out their credentials");
  command.add_flag("--no-outside", options.no_outside,
                   "pods reach each other and nothing outside (so it is without pasta, too)");
  command
      .add_option("--resolv-conf", options.resolv_conf,
                  "file with the name servers that pods' questions about outside names go to")
      ->capture_default_str();
  command.add_flag("--no-agent", options.no_agent, "do not run pods on this machine");
  command
      .add_option(
          "--fake-nodes", options.fake_nodes,
          "add this many nodes whose pods are only played (tests, benchmarks, queue policies)")
      ->check(CLI::Range(0, 100000));
  command
      .add_option("--fake-node-resources", options.fake_node_resources,
                  "capacity of each fake node")
      ->capture_default_str();
  command
      .add_option("--fake-pod-delay", options.fake_pod_delay_seconds,
                  "seconds that a pod of a fake node takes to start, and to end when it is deleted")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  command
      .add_option("--history-changes", options.history_changes,
                  "changes kept for watches and paged lists to go on from; older ones are answered "
                  "with 410")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_audit_flags(command, options.audit);
  command.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  // Not in the help.
  command.add_flag("--only-stop", options.only_stop)->group("");
  command.add_flag("--end-with-output", options.end_with_output)->group("");
}

std::vector<std::string> up_arguments(const UpOptions& options) {
  std::vector<std::string> arguments{"up", "--data-dir", options.data_dir};
  auto add = [&](const char* flag, const std::string& value) {
    if (value.empty()) return;
    arguments.emplace_back(flag);
    arguments.push_back(value);
  };
  add("--kubeconfig-out", options.kubeconfig_out);
  add("--listen", options.listen);
  for (const std::string& name : options.tls_sans) add("--tls-san", name);
  if (options.pod_security_default != UpOptions().pod_security_default)
    add("--pod-security-default", options.pod_security_default);
  add("--scheduler-conf", options.scheduler_conf);
  add("--record", options.record);
  for (const std::string& map : options.image_maps) add("--image-map", map);
  for (const std::string& host : options.insecure_registries) add("--insecure-registry", host);
  for (const std::string& mirror : options.registry_mirrors) add("--registry-mirror", mirror);
  for (const std::string& file : options.registry_authorities) add("--registry-ca", file);
  add("--node-name", options.node_name);
  add("--node-resources", options.node_resources);
  if (options.gpu_replicas > 1) add("--gpu-replicas", std::to_string(options.gpu_replicas));
  add("--runtime", options.runtime);
  if (options.seccomp_default) arguments.emplace_back("--seccomp-default");
  const UpOptions defaults;
  auto add_changed = [&](const char* flag, const auto& value, const auto& usual) {
    if (value == usual) return;
    arguments.emplace_back(flag);
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
      arguments.push_back(value);
    else
      arguments.push_back(std::to_string(value));
  };
  add_changed("--eviction-hard", options.eviction_hard, defaults.eviction_hard);
  add_changed("--eviction-soft", options.eviction_soft, std::string());
  add_changed("--eviction-soft-grace-period", options.eviction_soft_grace_period, std::string());
  add_changed("--eviction-minimum-reclaim", options.eviction_minimum_reclaim, std::string());
  add_changed("--eviction-pressure-transition-period", options.eviction_transition_seconds,
              defaults.eviction_transition_seconds);
  add_changed("--eviction-max-pod-grace-period", options.eviction_max_pod_grace, 0);
  add_changed("--image-gc-high-threshold", options.image_gc_high, defaults.image_gc_high);
  add_changed("--image-gc-low-threshold", options.image_gc_low, defaults.image_gc_low);
  add_changed("--minimum-image-ttl-duration", options.image_minimum_age_seconds,
              defaults.image_minimum_age_seconds);
  add_changed("--pod-max-pids", options.pod_max_pids, 0);
  add_changed("--resolv-conf", options.resolv_conf, defaults.resolv_conf);
  if (options.no_outside) arguments.emplace_back("--no-outside");
  if (options.allow_link_local) arguments.emplace_back("--allow-link-local");
  if (options.no_agent) arguments.emplace_back("--no-agent");
  if (options.fake_nodes > 0) {
    add("--fake-nodes", std::to_string(options.fake_nodes));
    add("--fake-node-resources", options.fake_node_resources);
    add_changed("--fake-pod-delay", options.fake_pod_delay_seconds, 0);
  }
  if (options.history_changes != UpOptions().history_changes)
    add("--history-changes", std::to_string(options.history_changes));
  for (std::string& one : audit_arguments(options.audit)) arguments.push_back(std::move(one));
  add("--log-level", options.log_level);
  if (options.only_stop) arguments.emplace_back("--only-stop");
  return arguments;
}

void remember_arguments(const UpOptions& options) {
  // Only what decides whose pods they are and how they end; nothing that is opened or written.
  UpOptions kept;
  kept.data_dir = options.data_dir;
  kept.node_name = options.node_name;
  kept.node_resources = options.node_resources;
  kept.gpu_replicas = options.gpu_replicas;
  kept.runtime = options.runtime;
  kept.only_stop = true;
  std::string text;
  for (const std::string& one : up_arguments(kept)) text += one + '\0';
  if (Result<void> written = write_file_atomically(options.data_dir + "/stop.args", text, 0600);
      !written)
    log_warn("main", "how to stop after a crash could not be kept",
             {{"error", written.error().message}});
}

std::vector<std::string> arguments_to_stop(const std::string& data_dir) {
  UpOptions usual;
  usual.data_dir = data_dir;
  usual.only_stop = true;
  std::vector<std::string> arguments;
  if (Result<std::string> text = read_file(data_dir + "/stop.args"))
    for (std::string_view rest = *text; !rest.empty();) {
      std::size_t end = std::min(rest.find('\0'), rest.size());
      arguments.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  if (arguments.size() < 3) return up_arguments(usual);
  arguments[2] = data_dir;  // which may have been moved, or named from elsewhere
  return arguments;
}

}  // namespace hekla::cli
