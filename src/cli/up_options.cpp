#include "cli/up_options.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "base/disk.h"
#include "base/environment.h"
#include "base/log.h"
#include "cli/shared_flags.h"

namespace hekla::cli {

std::string default_data_dir() {
  if (::geteuid() == 0) return "/var/lib/hekla";
  if (std::string given = environment_variable("XDG_DATA_HOME"); given.starts_with('/'))
    return given + "/hekla";
  const passwd* user = ::getpwuid(::geteuid());
  std::string home = user ? user->pw_dir : environment_variable("HOME");
  return (home.empty() ? "/tmp" : home) + "/.local/share/hekla";
}

Flag data_dir_flag(std::string& data_dir, std::string help) {
  return Flag("--data-dir", data_dir, std::move(help))
      .with_default("/var/lib/hekla, without root ~/.local/share/hekla");
}

agent::Options UpOptions::usual_agent() {
  agent::Options agent;
  // Less of a disk than the kubelet's tenth: it is seldom the platform's alone.
  agent.eviction.hard =
      "memory.available<100Mi,nodefs.available<1Gi,nodefs.inodesFree<5%,imagefs.available<1Gi,"
      "imagefs.inodesFree<5%";
  return agent;
}

agent::FakeNodesOptions UpOptions::usual_fake_nodes() {
  agent::FakeNodesOptions fake;
  fake.resources = parse_resource_list("cpu=32,memory=256Gi,pods=110").value();
  return fake;
}

namespace {

std::vector<Flag> server_flags(UpOptions& options) {
  return {
      data_dir_flag(options.data_dir, "where everything durable lives"),
      Flag("--kubeconfig-out", options.kubeconfig_out,
           "write the admin kubeconfig here too (mode 0600)"),
      Flag("--merge-kubeconfig", options.merge_kubeconfig,
           "add a context to your own kubeconfig ($KUBECONFIG, else ~/.kube/config): hekla, for "
           "another data directory hekla-NAME"),
      Flag("--listen", options.listen,
           "ADDR:PORT of the API server; port 0 takes a free one (default: 127.0.0.1 and a "
           "free port, kept for later starts)"),
      Flag("--tls-san", options.tls_sans,
           "name or address that the API server's certificate shall have as well; repeatable "
           "(those of this machine's interfaces are there when --listen names a wildcard)"),
      pod_security_flag(options.pod_security_default),
      Flag("--pipelines-listen", options.pipelines_listen,
           "ADDR:PORT at which the pipelines API is served in plain HTTP, to whoever can connect: "
           "kfp.Client(host='http://ADDR:PORT') (default: nowhere)"),
      Flag("--objects-listen", options.objects_listen,
           "ADDR:PORT of the object store (S3, plain HTTP) for programs on this machine (default: "
           "127.0.0.1 and a free port, 9000 if it is free, kept for later starts)"),
      Flag("--scheduler-conf", options.scheduler_conf,
           "scheduler configuration file in Volcano's format, read again when it changes; "
           "without it the ConfigMap volcano-system/volcano-scheduler-configmap decides")
          .with(existing_file()),
      Flag(
          "--gang-scheduler-name", options.gang_scheduler,
          "whose gangs training jobs are (TFJob, PyTorchJob, ...); none: their pods are placed one "
          "by one")
          .with(one_of({"volcano", "none"})),
      Flag("--cull-idle-time", options.notebook_idle_minutes,
           "minutes after which a notebook is stopped that nobody has used (0: never)")
          .with(between(0, 525600)),
      Flag("--record", options.record,
           "write everything the scheduler takes in to this file, for hekla simulate --replay"),
  };
}

std::vector<Flag> web_flags(WebFlags& web) {
  return {
      Flag("--web-listen", web.listen,
           "ADDR:PORT of the dashboard and everything behind it, or none (default: 127.0.0.1 and a "
           "free port, 8080 if it is free, kept for later starts)"),
      Flag("--web-tls", web.tls,
           "serve it over TLS, with a certificate of the platform's own authority"),
      Flag("--auth", web.auth,
           "login, or none: whoever reaches the dashboard is user@example.com; only on loopback")
          .with(one_of({"login", "none"})),
  };
}

std::vector<Flag> image_flags(agent::Options& agent) {
  std::vector<Flag> flags{
      Flag("--image-map", agent.image_map,
           "'PATTERN=host' runs matching images on this machine's own root file system; "
           "repeatable, '*=host' for all. It may bring what an image has: 'PATTERN=host, "
           "files=DIR:/PATH, venv=DIR, conda=DIR, workdir=/PATH, entrypoint=TEXT, cmd=TEXT, "
           "env=NAME=VALUE, user=NAME'. A FILE of such lines is taken as well")};
  append(flags, registry_flags(agent.insecure_registries, agent.registry_mirrors,
                               agent.registry_authorities));
  return flags;
}

std::vector<Flag> node_flags(agent::Options& agent) {
  return {
      Flag("--node-name", agent.node_name, "name of this machine's Node (default: host name)")
          .needed_to_stop(),
      Flag("--node-resources", agent.node_resources,
           "extended resources to declare, e.g. nvidia.com/gpu=4,example.com/fpga=1")
          .needed_to_stop(),
      Flag("--gpu-replicas", agent.gpu_replicas,
           "containers that may share one GPU, found or declared by --node-resources (time "
           "slicing)")
          .with(between(1, 1000))
          .needed_to_stop(),
      Flag("--runtime", agent.runtime,
           "the OCI runtime: crun, runc or a path (default: crun, or runc where that is missing)")
          .needed_to_stop(),
      Flag("--seccomp-default", agent.default_seccomp,
           "the profile RuntimeDefault for pods whose securityContext names none"),
      Flag("--pod-max-pids", agent.pod_max_pids,
           "processes and threads that a pod may have (0: 32768 for each container)")
          .with(between(0, 4194304)),
      Flag::switch_off("--no-outside", agent.outside,
                       "pods reach each other and nothing outside (so it is without pasta, too)"),
      Flag("--allow-link-local", agent.link_local,
           "pods may reach 169.254.0.0/16, where cloud machines hand out their credentials"),
      Flag("--resolv-conf", agent.resolv_conf,
           "file with the name servers that pods' questions about outside names go to"),
  };
}

std::vector<Flag> pressure_flags(agent::Options& agent) {
  agent::EvictionFlags& eviction = agent.eviction;
  agent::ImageGcOptions& images = agent.image_gc;
  return {
      Flag("--eviction-hard", eviction.hard,
           "what the node must have left, or pods are ended at once: SIGNAL<QUANTITY or "
           "PERCENT%,... of memory.available, nodefs.available, nodefs.inodesFree, "
           "imagefs.available, imagefs.inodesFree, pid.available"),
      Flag("--eviction-soft", eviction.soft,
           "the same, but for a while and with a grace period for the pods"),
      Flag("--eviction-soft-grace-period", eviction.soft_grace_period,
           "how long a soft threshold may be crossed: SIGNAL=DURATION,..."),
      Flag("--eviction-minimum-reclaim", eviction.minimum_reclaim,
           "how much more than the threshold is won back: SIGNAL=QUANTITY,..."),
      Flag::seconds("--eviction-pressure-transition-period", eviction.pressure_transition,
                    "time until a condition of pressure is withdrawn")
          .with(between(0, 86400)),
      Flag("--eviction-max-pod-grace-period", eviction.max_pod_grace_seconds,
           "seconds that a pod has at most when a soft threshold ends it")
          .with(between(0, 86400)),
      Flag("--image-gc-high-threshold", images.high_percent,
           "percentage of the disk in use at which unused images are removed; 100: never"),
      Flag("--image-gc-low-threshold", images.low_percent,
           "percentage of the disk in use down to which they are"),
      Flag::seconds("--minimum-image-ttl-duration", images.minimum_age,
                    "time that an image is kept at least")
          .with(between(0, 31536000)),
  };
}

std::vector<Flag> fake_node_flags(agent::FakeNodesOptions& fake) {
  return {
      Flag("--fake-nodes", fake.count,
           "add this many nodes whose pods are only played (tests, benchmarks, queue policies)")
          .with(between(0, 100000)),
      Flag("--fake-node-resources", fake.resources, "capacity of each fake node"),
      Flag::seconds("--fake-pod-delay", fake.pod_delay,
                    "time that a pod of a fake node takes to start, and to end when it is deleted")
          .with(between(0, 3600)),
  };
}

std::vector<Flag> process_flags(UpOptions& options) {
  std::vector<Flag> flags{
      Flag("--history-changes", options.history_changes,
           "changes kept for watches and paged lists to go on from; older ones are answered with "
           "410")
          .with(at_least(1))};
  append(flags, audit_flags(options.audit));
  append(flags, {log_level_flag(options.log_level),
                 Flag("--quiet", options.quiet,
                      "plain lines on a terminal too, and no progress (CI=true does the same)"),
                 Flag("--only-stop", options.only_stop, "").not_in_help().needed_to_stop(),
                 Flag("--end-with-output", options.end_with_output, "").not_in_help()});
  return flags;
}

}  // namespace

std::vector<Flag> up_flags(UpOptions& options) {
  std::vector<Flag> flags = server_flags(options);
  append(flags, web_flags(options.web));
  append(flags, image_flags(options.agent));
  append(flags, node_flags(options.agent));
  append(flags, pressure_flags(options.agent));
  append(flags, {Flag("--no-agent", options.no_agent, "do not run pods on this machine"),
                 Flag("--without", options.without,
                      "a component whose images run as anybody's, for its original: "
                      "training-operator, cert-manager, istiod, ...; repeatable")});
  append(flags, fake_node_flags(options.fake_nodes));
  append(flags, process_flags(options));
  return flags;
}

namespace {

std::vector<std::string> arguments_for(UpOptions& options, bool only_to_stop) {
  UpOptions usual;
  usual.data_dir.clear();  // a second process may have another default
  std::vector<Flag> flags = up_flags(options), defaults = up_flags(usual);
  auto left_out = [&](const Flag& flag) {
    return only_to_stop && !flag.stops && flag.long_name() != "--data-dir";
  };
  std::erase_if(flags, left_out);
  std::erase_if(defaults, left_out);
  std::vector<std::string> arguments = arguments_of(flags, defaults);
  arguments.insert(arguments.begin(), "up");
  return arguments;
}

}  // namespace

std::vector<std::string> up_arguments(UpOptions options) { return arguments_for(options, false); }

void remember_arguments(UpOptions options) {
  options.only_stop = true;
  std::string text;
  for (const std::string& one : arguments_for(options, true)) text += one + '\0';
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
