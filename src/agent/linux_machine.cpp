#include "agent/linux_machine.h"

#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <future>
#include <ranges>
#include <span>
#include <sstream>

#include "agent/image/login_file.h"
#include "agent/pressure/node_readings.h"
#include "agent/probes/probe_run.h"
#include "agent/runtime/cgroup.h"
#include "agent/runtime/files.h"
#include "agent/runtime/pause.h"
#include "agent/volumes/volume_store.h"
#include "base/check.h"
#include "base/disk.h"
#include "base/log.h"
#include "json/codec.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr int kProbeThreads = 8, kHookThreads = 8;
constexpr std::size_t kTerminationMessageLimit = 4096;
constexpr std::size_t kLogTailLimit = 2048, kLogTailRead = 64 * 1024;

std::string containers_dir(const InstancePaths& paths, const std::string& uid) {
  return paths.pod(uid) + "/containers";
}

std::string container_dir(const InstancePaths& paths, const std::string& uid,
                          const std::string& container) {
  return containers_dir(paths, uid) + "/" + container;
}

// Below it the container's sub-paths are mounted; not in the bundle, which is removed whole.
std::string pins_dir(const InstancePaths& paths, const std::string& uid, const ContainerRun& run) {
  return paths.pod(uid) + "/subpaths/" + run.id.substr(0, 16);
}

Result<void> remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return fail(Code::internal, "remove " + path + ": " + error.message());
  return {};
}

// The kernel writes a space in a path as \040.
std::string unescaped_mount_point(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 4], code, 8).ptr == &text[i + 4]) {
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Whatever is mounted below `directory` in the calling thread's namespace, last first.
Result<void> unmount_below(const std::string& directory) {
  std::string mountinfo = TRY(read_file("/proc/thread-self/mountinfo"));
  std::vector<std::string> points;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string skipped, point;
    fields >> skipped >> skipped >> skipped >> skipped >> point;
    point = unescaped_mount_point(point);
    if (point.starts_with(directory + "/")) points.push_back(point);
  }
  for (const std::string& point : std::views::reverse(points))
    if (::umount2(point.c_str(), MNT_DETACH) != 0) return errno_error("unmount " + point);
  return {};
}

// The end of a container's own log, without the CRI prefixes.
std::string log_tail(const std::string& path) {
  Result<std::string> text = read_end(path, kLogTailRead);
  if (!text) return {};
  std::string out;
  std::istringstream lines(*text);
  std::string line;
  if (text->size() == kLogTailRead) std::getline(lines, line);  // begins in the middle
  while (std::getline(lines, line)) {
    std::size_t at = 0, tag = 0;
    for (int field = 0; field < 3 && at != std::string::npos; ++field) {
      tag = at;
      at = line.find(' ', at);
      if (at != std::string::npos) ++at;
    }
    if (at == std::string::npos) continue;
    out += line.substr(at);
    if (line[tag] != 'P') out += "\n";  // else a part: of a long line, or a last one that was not ended
  }
  return out.size() > kLogTailLimit ? out.substr(out.size() - kLogTailLimit) : out;
}

std::string termination_message(const InstancePaths& paths, const PodRecord& record,
                                const ContainerRecord& container, const model::Container* spec) {
  const ContainerRun& run = *container.current;
  // The container wrote it: it may be of any size.
  std::string message =
      read_beginning(container_dir(paths, record.uid, container.name) + "/termination-log",
                     kTerminationMessageLimit)
          .value_or("");
  if (message.empty() && run.exit_code != 0 && spec &&
      spec->terminationMessagePolicy == "FallbackToLogsOnError")
    message = log_tail(log_path(containers_dir(paths, record.uid), container.name, run.attempt));
  return message;
}

}  // namespace

std::string log_path(const std::string& containers, const std::string& container, int attempt) {
  return containers + "/" + container + "/" + std::to_string(attempt) + ".log";
}

LinuxMachine::LinuxMachine(Private, LinuxMachineOptions options, Executor& executor)
    : options_(std::move(options)),
      executor_(executor),
      paths_(instance_paths(options_.data_dir)),
      addresses_(options_.subnet),
      runtime_(paths_),
      image_(paths_, options_.hidden_paths),
      images_(ImageStoreOptions{options_.data_dir + "/images", options_.registries}),
      kept_logs_(options_.data_dir + "/joblogs"),
      pool_(std::make_unique<WorkerPool>("hekla-agent", options_.threads)),
      probe_pool_(std::make_unique<WorkerPool>("hekla-probes", kProbeThreads)),
      hook_pool_(std::make_unique<WorkerPool>("hekla-hooks", kHookThreads)),
      image_pool_(std::make_unique<WorkerPool>("hekla-images", 1)) {}

LinuxMachine::~LinuxMachine() {
  stop_pulling();
  probe_pool_->stop();
  hook_pool_->stop();
  image_pool_->stop();
  exits_.reset();
  pool_->stop();
}

Result<std::unique_ptr<LinuxMachine>> LinuxMachine::open(
    LinuxMachineOptions options, Executor& executor,
    std::function<void(const std::string& id)> on_exit) {
  auto machine = std::make_unique<LinuxMachine>(Private{}, std::move(options), executor);
  TRY(machine->blocking<void>([raw = machine.get()]() -> Result<void> { return raw->prepare(); }));
  for (const PodRecord& record : machine->found_)
    if (auto address = parse_ipv4(record.address)) machine->addresses_.claim(*address);
  // Nobody waits for it: the first pod may be a moment ahead of its way out.
  if (machine->reaches_outside_)
    machine->background<void>(
        [raw = machine.get()] {
          return raw->network_->connect_outside({raw->options_.pod_cidr, raw->options_.service_cidr});
        },
        [](const Result<void>& done) {
          if (!done) log_warn("agent", "connect pods to the outside", {{"error", done.error().message}});
        });
  machine->exits_ = TRY(FileWatch::open("hekla-exits"));
  TRY(machine->exits_->add(machine->paths_.exits(), [&executor, on_exit](const std::string& name) {
    executor.post([on_exit, name] { on_exit(name); });
  }));
  return machine;
}

template <class T>
void LinuxMachine::background_on(WorkerPool& pool, std::move_only_function<Result<T>()> work,
                                 Done<T> done) {
  auto shared = std::make_shared<Done<T>>(std::move(done));
  Task task = [this, work = std::move(work), shared]() mutable {
    Result<void> entered = namespace_->enter();
    Result<T> result = entered ? work() : Result<T>(std::unexpected(entered.error()));
    executor_.post(
        [shared, result = std::move(result)]() mutable { (*shared)(std::move(result)); });
  };
  if (!pool.try_post(task))
    executor_.post(
        [shared] { (*shared)(fail(Code::unavailable, "the agent's work queue is full")); });
}

template <class T>
Result<T> LinuxMachine::blocking(std::move_only_function<Result<T>()> work) {
  std::promise<Result<T>> promise;
  std::future<Result<T>> future = promise.get_future();
  Task task = [&] { promise.set_value(work()); };
  if (!pool_->try_post(task)) return fail(Code::unavailable, "the agent's work queue is full");
  return future.get();
}

Result<void> LinuxMachine::prepare() {
  namespace_ = TRY(InstanceNamespace::open(paths_));
  TRY(namespace_->enter());
  network_ = std::make_unique<PodNetwork>(paths_, options_.subnet, namespace_->host_netns());
  TRY(network_->prepare());
  reaches_outside_ = options_.outside && PodNetwork::can_reach_outside();
  TRY(image_.prepare());
  TRY(images_.prepare());
  TRY(kept_logs_.open());
  TRY(remove_tree(paths_.exec_dir()));  // of an earlier process: its clients are gone
  TRY(make_directories(paths_.exec_dir()));
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(paths_.pods(), error)) {
    Result<std::string> text = read_file(entry.path().string() + "/state.json");
    if (!text) continue;
    Result<PodRecord> record = json::decode_text<PodRecord>(*text);
    if (record && record->uid == entry.path().filename())
      found_.push_back(std::move(*record));
    else
      log_warn("agent", "a pod's record cannot be read; what is left of the pod is removed",
               {{"path", entry.path().string()}});
  }
  // After a reboot network, memory volumes and shared processes are gone.
  if (namespace_->is_new())
    for (PodRecord& record : found_) record.sandbox = false;
  sweep();
  return {};
}

// Removes what no record speaks for. Failures are reported and do not keep the agent from starting.
void LinuxMachine::sweep() {
  std::set<std::string> pods, runs;
  for (const PodRecord& record : found_) {
    pods.insert(record.uid);
    for (const ContainerRecord& container : record.containers)
      if (container.current) runs.insert(container.current->id);
  }
  auto report = [](const Result<void>& done) {
    if (!done)
      log_warn("agent", "clean up after an earlier run", {{"error", done.error().message}});
  };
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(paths_.crun_root(), error)) {
    std::string id = entry.path().filename();
    if (!runs.contains(id)) report(runtime_.remove(id, "", ""));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(paths_.netns_dir(), error)) {
    std::string uid = entry.path().filename();
    if (uid != "parent" && !pods.contains(uid)) report(network_->remove_pod(uid));
  }
  for (const std::string& hierarchy : cgroup_directories(paths_.cgroup()))
    for (const fs::directory_entry& entry : fs::directory_iterator(hierarchy, error))
      if (entry.is_directory(error) && !pods.contains(entry.path().filename()))
        report(remove_cgroup(paths_.pod_cgroup(entry.path().filename())));
  for (const fs::directory_entry& entry : fs::directory_iterator(paths_.exits(), error))
    if (!runs.contains(entry.path().filename())) report(remove_tree(entry.path()));
  for (const fs::directory_entry& entry : fs::directory_iterator(paths_.pods(), error)) {
    if (pods.contains(entry.path().filename())) continue;
    // What is still mounted there may be somebody's volume.
    Result<void> unmounted = unmount_below(entry.path());
    report(unmounted ? remove_tree(entry.path()) : unmounted);
  }
}

std::string LinuxMachine::bundle_dir(const PodRecord& record, const ContainerRun& run) const {
  return paths_.pod(record.uid) + "/bundles/" + run.id.substr(0, 16);
}

std::string LinuxMachine::cgroup_of(const PodRecord& record, const ContainerRun& run) const {
  return paths_.pod_cgroup(record.uid) + "/" + run.id;
}

Result<void> LinuxMachine::save(const PodRecord& record) const {
  return replace_file(paths_.pod(record.uid) + "/state.json", json::serialize(json::encode(record)),
                      0600);
}

Result<std::string> LinuxMachine::take_address() {
  std::optional<std::uint32_t> address = addresses_.take();
  if (!address) return fail(Code::unavailable, "no free pod address");
  return ipv4_text(*address);
}

void LinuxMachine::release_address(const std::string& address) {
  if (auto parsed = parse_ipv4(address)) addresses_.release(*parsed);
}

void LinuxMachine::make_sandbox(SandboxRequest request, Done<void> done) {
  background<void>([this, request = std::move(request)] { return sandbox_now(request); },
                   std::move(done));
}

Result<void> LinuxMachine::sandbox_now(const SandboxRequest& request) {
  const std::string dir = paths_.pod(request.record.uid);
  TRY(make_directories(dir));
  TRY(save(request.record));
  auto write = [&](const char* name, const std::string& text) {
    return replace_file(dir + "/" + name, text, 0644);
  };
  TRY(write("hosts", request.files.hosts));
  TRY(write("hostname", request.files.hostname));
  TRY(write("resolv.conf", request.files.resolv_conf));
  TRY(lay_out_volumes(dir + "/volumes", request.volumes));
  if (auto address = parse_ipv4(request.record.address))
    TRY(network_->add_pod(request.record.uid, *address));
  if (request.record.share_processes)
    TRY(start_pause(paths_.pod_cgroup(request.record.uid) + "/pause", dir + "/pause.pid"));
  PodRecord ready = request.record;
  ready.sandbox = true;
  return save(ready);
}

void LinuxMachine::find_image(const ImageReference& image,
                              Done<std::optional<StoredImage>> done) {
  background<std::optional<StoredImage>>([this, image] { return images_.find(image); },
                                         std::move(done));
}

void LinuxMachine::pull_image(const ImageReference& image, RegistryLogins logins,
                              Done<StoredImage> done) {
  background_on<StoredImage>(
      *image_pool_,
      [this, image, logins = std::move(logins)]() mutable -> Result<StoredImage> {
        if (stopping_) return fail(Code::unavailable, "the agent is stopping");
        Result<RegistryLogins> own = read_logins(options_.data_dir);
        if (!own)
          log_warn("agent", "read registry logins", {{"error", own.error().message}});
        else
          logins.add(*own);
        return images_.pull(image, logins);
      },
      std::move(done));
}

void LinuxMachine::launch(LaunchRequest request, Done<Launch> done) {
  background<Launch>([this, request = std::move(request)]() mutable { return launch_now(request); },
                     std::move(done));
}

Result<BundleSpec> LinuxMachine::complete_bundle(const LaunchRequest& request,
                                                 const std::string& bundle) {
  const std::string dir = paths_.pod(request.record.uid);
  const ContainerRecord& container = request.record.containers[request.container];
  BundleSpec spec = request.bundle;
  spec.rootfs = bundle + "/rootfs";
  spec.cgroup = cgroup_of(request.record, *container.current);
  if (!request.record.host_network) spec.network_namespace = paths_.netns(request.record.uid);
  spec.pid_namespace = TRY(pid_namespace(request.record, container));
  if (!request.image || request.image->host) spec.mounts = image_.extra_mounts();
  const std::size_t first = spec.mounts.size();
  auto bind = [&](const std::string& source, const std::string& destination) {
    spec.mounts.push_back({destination, "none", source, {"bind", "rprivate", "rw"}});
  };
  bind(dir + "/hosts", "/etc/hosts");
  bind(dir + "/hostname", "/etc/hostname");
  bind(dir + "/resolv.conf", "/etc/resolv.conf");
  const std::string own = container_dir(paths_, request.record.uid, container.name);
  TRY(make_directories(own));
  TRY(replace_file(own + "/termination-log", "", 0666));
  bind(own + "/termination-log", request.spec.terminationMessagePath.empty()
                                     ? "/dev/termination-log"
                                     : request.spec.terminationMessagePath);
  VolumeSources sources = volume_sources_of(*request.pod, dir + "/volumes");
  const std::string pins = pins_dir(paths_, request.record.uid, *container.current);
  for (OciMount& mount : TRY(volume_mounts(request.spec, sources, pins)))
    spec.mounts.push_back(std::move(mount));
  order_by_depth(std::span(spec.mounts).subspan(first));
  return spec;
}

// The pod's, or that of the container which an ephemeral one is to look into; empty for its own.
Result<std::string> LinuxMachine::pid_namespace(const PodRecord& record,
                                                const ContainerRecord& container) const {
  if (record.share_processes) return pause_namespace(paths_.pod(record.uid) + "/pause.pid");
  if (container.target.empty()) return std::string();
  for (const ContainerRecord& other : record.containers) {
    if (other.name != container.target || !other.current ||
        other.current->phase != run_phase::running)
      continue;
    std::string pid = TRY(read_file(bundle_dir(record, *other.current) + "/pid"));
    return "/proc/" + pid.substr(0, pid.find('\n')) + "/ns/pid";
  }
  return fail(Code::unavailable, "the container " + container.target + " does not run");
}

Result<Launch> LinuxMachine::launch_now(LaunchRequest& request) {
  ContainerRecord& container = request.record.containers[request.container];
  ContainerRun& run = *container.current;
  TRY(save(request.record));
  // A log older than the previous run's can no longer be asked for.
  std::error_code ignored;
  const std::string containers = containers_dir(paths_, request.record.uid);
  fs::remove(log_path(containers, container.name, run.attempt - 2), ignored);
  const std::string bundle = bundle_dir(request.record, run);
  TRY(make_directories(bundle));
  if (Result<void> mounted = mount_root(request, bundle); !mounted)
    return Launch{now(), mounted.error().message};
  BundleSpec spec = TRY(complete_bundle(request, bundle));
  CreateRequest create{run.id,
                       bundle,
                       log_path(containers, container.name, run.attempt),
                       oci_config(spec),
                       spec.terminal,
                       request.spec.stdin,
                       request.spec.stdinOnce,
                       spec.limits.oom_score_adjust};
  if (Result<void> created = runtime_.create(create); !created)
    return Launch{now(), created.error().message};
  if (options_.pod_max_pids > 0)
    TRY(limit_processes(paths_.pod_cgroup(request.record.uid), options_.pod_max_pids));
  run.phase = run_phase::starting;
  TRY(save(request.record));
  if (Result<void> started = runtime_.start(run.id); !started)
    return Launch{now(), started.error().message};
  Launch launch{now(), std::nullopt};
  run.phase = run_phase::running;
  run.started_ns = to_ns(launch.started);
  TRY(save(request.record));
  return launch;
}

Result<void> LinuxMachine::mount_root(LaunchRequest& request, const std::string& bundle) {
  if (!request.image) {
    TRY(image_.mount_root(bundle));
    return {};
  }
  const std::string base = request.image->host ? TRY(image_.mount_base(bundle)) : std::string();
  TRY(images_.mount_root(*request.image, bundle, base));
  return apply_image_user(request.image->config.user, bundle + "/rootfs", request.bundle.security);
}

void LinuxMachine::signal(const PodRecord& record, const ContainerRun& run, int number) {
  background<void>(
      [this, id = run.id, number] { return runtime_.signal(id, number); },
      [name = record.name](Result<void> sent) {
        if (!sent)
          log_warn("agent", "signal a container", {{"pod", name}, {"error", sent.error().message}});
      });
}

void LinuxMachine::probe(const PodRecord& record, std::size_t container, const ProbeAction& action,
                         Done<ProbeOutcome> done) {
  const ContainerRun& run = *record.containers[container].current;
  ProbeTarget target{record.uid, record.host_network ? "127.0.0.1" : record.address,
                     record.host_network,
                     ExecPlace{paths_.crun_root(), run.id, bundle_dir(record, run),
                               paths_.exec_dir() + "/" + std::to_string(++exec_number_)}};
  background_on<ProbeOutcome>(
      action.hook ? *hook_pool_ : *probe_pool_,
      [this, action, target = std::move(target)] { return run_probe(action, target, *network_); },
      std::move(done));
}

void LinuxMachine::inspect(std::shared_ptr<const model::Pod> pod, PodRecord record,
                           Done<PodRecord> done) {
  background<PodRecord>(
      [this, pod = std::move(pod), record = std::move(record)]() mutable {
        return inspect_now(*pod, std::move(record));
      },
      std::move(done));
}

Result<PodRecord> LinuxMachine::inspect_now(const model::Pod& pod, PodRecord record) {
  const json::Value before = json::encode(record);
  for (ContainerRecord& container : record.containers)
    if (container.current && container.current->is_live()) TRY(inspect_run(pod, record, container));
  // After a reboot: the network is gone and its pod's containers with it.
  if (record.sandbox && !record.host_network && !network_->has_pod(record.uid))
    record.sandbox = false;
  // Most looks find nothing new.
  std::error_code ignored;
  if (json::encode(record) != before && fs::exists(paths_.pod(record.uid), ignored))
    TRY(save(record));
  return record;
}

Result<void> LinuxMachine::inspect_run(const model::Pod& pod, PodRecord& record,
                                       ContainerRecord& container) {
  ContainerRun& run = *container.current;
  const std::string bundle = bundle_dir(record, run);
  bool begun = run.phase == run_phase::running;
  if (run.phase == run_phase::starting) {
    RuntimeStatus status = runtime_.status(run.id);
    begun = status == RuntimeStatus::running || status == RuntimeStatus::stopped;
  }
  if (!begun) {
    // It has never run: take away what there is and let it be launched as if for the first time.
    TRY(remove_run(record, run));
    --container.attempts;
    container.current.reset();
    return {};
  }
  run.phase = run_phase::running;
  struct stat info {};
  if (run.started_ns == 0 && ::stat((bundle + "/pid").c_str(), &info) == 0)
    run.started_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
  std::optional<ContainerExit> exit = runtime_.exit_of(run.id, cgroup_of(record, run));
  if (!exit && runtime_.is_monitored(run.id, bundle)) return {};
  // The monitor writes the exit code last: it may have done so between the two looks.
  if (!exit) exit = runtime_.exit_of(run.id, cgroup_of(record, run));
  if (!exit) {
    set_unknown_exit(run, now());
    return {};
  }
  run.phase = run_phase::exited;
  run.exit_code = exit->code;
  run.finished_ns = to_ns(exit->finished);
  if (exit->oom_killed) run.reason = "OOMKilled";
  run.message = termination_message(paths_, record, container, container_spec(pod, container));
  return {};
}

void LinuxMachine::remove_container(PodRecord record, std::size_t container, Done<void> done) {
  background<void>(
      [this, record = std::move(record), container]() mutable -> Result<void> {
        TRY(save(record));
        ContainerRun& run = *record.containers[container].current;
        TRY(remove_run(record, run));
        run.removed = true;
        return save(record);
      },
      std::move(done));
}

Result<void> LinuxMachine::remove_run(const PodRecord& record, const ContainerRun& run) {
  const std::string bundle = bundle_dir(record, run);
  TRY(runtime_.remove(run.id, bundle, cgroup_of(record, run)));
  TRY(image_.unmount_root(bundle));
  std::error_code ignored;
  if (const std::string pins = pins_dir(paths_, record.uid, run); fs::exists(pins, ignored)) {
    TRY(unmount_below(pins));
    TRY(remove_tree(pins));
  }
  return remove_tree(bundle);
}

void LinuxMachine::dismantle(PodRecord record, Done<void> done) {
  background<void>(
      [this, record = std::move(record)]() mutable -> Result<void> {
        TRY(dismantle_now(record));
        record.sandbox = false;
        record.address.clear();
        return save(record);
      },
      std::move(done));
}

Result<void> LinuxMachine::dismantle_now(const PodRecord& record) {
  TRY(network_->remove_pod(record.uid));
  TRY(remove_cgroup(paths_.pod_cgroup(record.uid)));
  return remove_volumes(paths_.pod(record.uid) + "/volumes");
}

void LinuxMachine::erase(PodRecord record, Done<void> done) {
  background<void>([this, record = std::move(record)] { return erase_now(record); },
                   std::move(done));
}

Result<void> LinuxMachine::erase_now(const PodRecord& record) {
  CHECK(!record.uid.empty(), "a record without uid would name every pod");
  for (const ContainerRecord& container : record.containers)
    for (const auto& run : {container.previous, container.current})
      if (run && !run->removed) TRY(remove_run(record, *run));
  TRY(dismantle_now(record));
  TRY(unmount_below(paths_.pod(record.uid)));
  if (record.job)
    if (Result<void> kept = kept_logs_.keep(record, containers_dir(paths_, record.uid), now());
        !kept)
      log_warn("agent", "the log of a job's pod is lost",
               {{"pod", record.name}, {"error", kept.error().message}});
  return remove_tree(paths_.pod(record.uid));
}

void LinuxMachine::remove_kept_logs(const std::string& job_uid) {
  background<void>([this, job_uid] { return kept_logs_.remove_job(job_uid); },
                   [](const Result<void>& done) {
                     if (!done)
                       log_warn("agent", "remove a job's logs", {{"error", done.error().message}});
                   });
}

void LinuxMachine::trim_kept_logs() {
  background<void>([this] { return kept_logs_.trim(now()); },
                   [](const Result<void>& done) {
                     if (!done)
                       log_warn("agent", "trim kept logs", {{"error", done.error().message}});
                   });
}

void LinuxMachine::measure(std::vector<std::string> cgroups, Done<UsageReading> done) {
  background<UsageReading>(
      [cgroups = std::move(cgroups)]() -> Result<UsageReading> {
        UsageReading reading = TRY(read_machine_usage());
        for (const std::string& cgroup : cgroups) reading.cgroups.push_back(cgroup_usage(cgroup));
        return reading;
      },
      std::move(done));
}

void LinuxMachine::read_node(Done<NodeReadings> done) {
  background<NodeReadings>(
      [this] { return hekla::agent::read_node(options_.data_dir, options_.data_dir + "/images"); },
      std::move(done));
}

PodUse LinuxMachine::measure_pod(const MeasuredUse& pod) const {
  PodUse use;
  const std::string dir = paths_.pod(pod.record.uid);
  for (const ContainerRecord& container : pod.record.containers) {
    if (!container.current || container.current->removed) continue;
    const std::string cgroup = cgroup_of(pod.record, *container.current);
    ContainerUse one{container.name, 0, 0};
    if (auto read = cgroup_usage(cgroup)) one.memory_bytes = read->memory_bytes;
    use.processes += process_count(cgroup);
    if (pod.disk)
      one.disk_bytes = tree_bytes(bundle_dir(pod.record, *container.current) + "/upper") +
                       tree_bytes(container_dir(paths_, pod.record.uid, container.name));
    use.containers.push_back(std::move(one));
  }
  if (pod.disk)
    for (const std::string& name : pod.empty_dirs)
      use.volumes[name] = tree_bytes(dir + "/volumes/" + name);
  return use;
}

// Counting files takes its time: it has the thread that pulls images.
void LinuxMachine::measure_uses(std::vector<MeasuredUse> pods, Done<std::vector<PodUse>> done) {
  const bool slow = std::ranges::any_of(pods, &MeasuredUse::disk);
  background_on<std::vector<PodUse>>(
      slow ? *image_pool_ : *pool_,
      [this, pods = std::move(pods)]() -> Result<std::vector<PodUse>> {
        std::vector<PodUse> out;
        for (const MeasuredUse& pod : pods) out.push_back(measure_pod(pod));
        return out;
      },
      std::move(done));
}

void LinuxMachine::list_images(Done<std::vector<StoredImage>> done) {
  background<std::vector<StoredImage>>([this] { return images_.list(); }, std::move(done));
}

void LinuxMachine::remove_images(std::vector<std::string> names, Done<Removed> done) {
  background_on<Removed>(
      *image_pool_,
      [this, names = std::move(names)] {
        return images_.remove(names, [this] { return images_of_pods(paths_.pods()); });
      },
      std::move(done));
}

void LinuxMachine::prune_images(Done<void> done) {
  background_on<void>(
      *image_pool_,
      [this]() -> Result<void> {
        TRY(images_.prune([this] { return images_of_pods(paths_.pods()); }, now()));
        return {};
      },
      std::move(done));
}

void LinuxMachine::refresh_volumes(const std::string& uid, std::vector<VolumePlan> volumes) {
  background<void>(
      [this, uid, volumes = std::move(volumes)]() -> Result<void> {
        std::error_code error;
        const std::string dir = paths_.pod(uid) + "/volumes";
        for (const VolumePlan& plan : volumes)
          if (plan.kind == VolumePlan::Kind::files && fs::exists(dir + "/" + plan.name, error))
            TRY(write_files(dir + "/" + plan.name, plan.files, plan.group));
        return {};
      },
      [uid](Result<void> done) {
        if (!done)
          log_warn("agent", "refresh volumes", {{"uid", uid}, {"error", done.error().message}});
      });
}

void LinuxMachine::start_exec(const PodRecord& record, std::size_t container, ExecSpec spec,
                              Done<StartedExec> done) {
  const ContainerRun& run = *record.containers[container].current;
  ExecPlace place{paths_.crun_root(), run.id, bundle_dir(record, run),
                  paths_.exec_dir() + "/" + std::to_string(++exec_number_)};
  background<StartedExec>(
      [place = std::move(place), spec = std::move(spec)] {
        return hekla::agent::start_exec(place, spec);
      },
      std::move(done));
}

AttachPlace LinuxMachine::attach_place(const PodRecord& record, std::size_t container) const {
  const ContainerRun& run = *record.containers[container].current;
  return {paths_.sockets() + "/" + run.id + "/attach", bundle_dir(record, run) + "/ctl"};
}

void LinuxMachine::remove_storage(const std::string& path, Done<void> done) {
  background<void>([path] { return remove_tree(path); }, std::move(done));
}

void LinuxMachine::pod_socket(const PodRecord& record, Done<FileDescriptor> done) {
  background<FileDescriptor>(
      [this, uid = record.uid, host = record.host_network]() -> Result<FileDescriptor> {
        if (!host) return network_->socket_in_pod(uid, SOCK_STREAM | SOCK_NONBLOCK);
        FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!socket) return errno_error("open a socket");
        return socket;
      },
      std::move(done));
}

Result<FileDescriptor> LinuxMachine::parent_socket(int type) {
  return blocking<FileDescriptor>([this, type]() -> Result<FileDescriptor> {
    TRY(namespace_->enter());
    return network_->socket_in_parent(type);
  });
}

void LinuxMachine::dial_parent(int type, Done<FileDescriptor> done) {
  background<FileDescriptor>(
      [this, type] { return network_->socket_in_parent(type | SOCK_NONBLOCK); }, std::move(done));
}

void LinuxMachine::set_rules(const std::string& name, std::string rules, Done<void> done) {
  background<void>(
      [this, name, rules = std::move(rules)] { return network_->set_rules(name, rules); },
      std::move(done));
}

Result<void> LinuxMachine::remove_instance() {
  exits_.reset();
  return blocking<void>([this]() -> Result<void> {
    TRY(namespace_->enter());
    TRY(network_->remove());
    TRY(remove_cgroup(paths_.cgroup()));
    return namespace_->remove(paths_);
  });
}

}  // namespace hekla::agent
