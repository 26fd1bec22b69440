#include "agent/machine/linux_machine.h"

#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <future>
#include <ranges>
#include <sstream>

#include "agent/image/recipe.h"
#include "agent/image/registry/login_file.h"
#include "agent/os/files.h"
#include "agent/os/user_namespace.h"
#include "agent/pressure/node_readings.h"
#include "agent/probes/probe_run.h"
#include "agent/record/pod_paths.h"
#include "agent/rootless/process_usage.h"
#include "agent/runtime/cgroup.h"
#include "agent/runtime/pause.h"
#include "agent/runtime/pod_memory.h"
#include "agent/volumes/volume_store.h"
#include "base/check.h"
#include "base/disk.h"
#include "base/log.h"
#include "json/codec.h"

namespace hekla::agent {
namespace {

// On cloud machines 169.254.169.254 hands out the instance's credentials.
constexpr const char* kLinkLocal = "169.254.0.0/16";

namespace fs = std::filesystem;
constexpr int kProbeThreads = 8, kHookThreads = 8;
constexpr std::size_t kTerminationMessageLimit = 4096;
constexpr std::size_t kLogTailLimit = 2048, kLogTailRead = 64 * 1024;

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
    if (line[tag] != 'P')
      out += "\n";  // else a part: of a long line, or a last one that was not ended
  }
  return out.size() > kLogTailLimit ? out.substr(out.size() - kLogTailLimit) : out;
}

RegistryOptions until(RegistryOptions options, const std::atomic<bool>& cancelled) {
  options.cancelled = &cancelled;
  return options;
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

LinuxMachine::LinuxMachine(Private, LinuxMachineOptions options, Executor& executor)
    : options_(std::move(options)),
      executor_(executor),
      paths_(instance_paths(options_.data_dir)),
      addresses_(options_.subnet),
      runtime_(paths_, options_.programs),
      image_(paths_, options_.hidden_paths),
      images_(
          ImageStoreOptions{options_.data_dir + "/images", until(options_.registries, stopping_)}),
      builds_(options_.data_dir, executor),
      kept_logs_(options_.data_dir + "/joblogs"),
      pool_(std::make_unique<WorkerPool>("hekla-agent", options_.threads)),
      probe_pool_(std::make_unique<WorkerPool>("hekla-probes", kProbeThreads)),
      hook_pool_(std::make_unique<WorkerPool>("hekla-hooks", kHookThreads)),
      image_pool_(std::make_unique<WorkerPool>("hekla-images", 1)),
      disk_pool_(std::make_unique<WorkerPool>("hekla-disk", 1)) {}

LinuxMachine::~LinuxMachine() {
  stop_pulling();
  probe_pool_->stop();
  hook_pool_->stop();
  image_pool_->stop();
  disk_pool_->stop();
  exits_.reset();
  pool_->stop();
}

Result<std::unique_ptr<LinuxMachine>> LinuxMachine::open(
    LinuxMachineOptions options, Executor& executor,
    std::function<void(const std::string& id)> on_exit) {
  auto machine = std::make_unique<LinuxMachine>(Private{}, std::move(options), executor);
  machine->log_keeper_ = TRY(LogKeeper::open());
  TRY(machine->blocking<void>([raw = machine.get()]() -> Result<void> { return raw->prepare(); }));
  for (const PodRecord& record : machine->found_) {
    if (auto address = parse_ipv4(record.address)) machine->addresses_.claim(*address);
    for (const ContainerRecord& container : record.containers)
      if (container.current && container.current->is_live())
        machine->log_keeper_->begin(container.current->id,
                                    log_path(containers_dir(machine->paths_, record.uid),
                                             container.name, container.current->attempt));
  }
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

std::vector<std::string> LinuxMachine::networks_kept_inside() const {
  std::vector<std::string> out = {options_.pod_cidr, options_.service_cidr};
  if (!options_.link_local) out.emplace_back(kLinkLocal);
  return out;
}

// Pods do not wait for it: the first may be a moment ahead of its way out.
void LinuxMachine::check_uplink() {
  if (!reaches_outside_ || std::exchange(outside_->busy, true)) return;
  background<void>([this] { return network_->connect_outside(networks_kept_inside()); },
                   [outside = outside_](const Result<void>& done) {
                     outside->busy = false;
                     if (!std::exchange(outside->failing, !done) && !done)
                       log_warn("agent", "connect pods to the outside",
                                {{"error", done.error().message}});
                   });
}

Result<void> LinuxMachine::prepare() {
  namespace_ = TRY(InstanceNamespace::open(paths_));
  TRY(namespace_->enter());
  const std::string runtime = TRY(keep_runtime(paths_.run_dir(), options_.programs.runtime));
  runtime_name_ = fs::path(runtime).filename();
  runtime_.set_program(bind_read_only(runtime, paths_.runtime_mount()));
  std::unique_ptr<NetnsThread> visits;
  if (is_rootless()) visits = TRY(NetnsThread::start(*namespace_));
  network_ = std::make_unique<PodNetwork>(paths_, options_.subnet, namespace_->host_netns(),
                                          std::move(visits));
  TRY(network_->prepare());
  reaches_outside_ = options_.outside && PodNetwork::outside_obstacle().empty();
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
    if (record && record->uid == entry.path().filename() && !record_fault(*record))
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
  for (const fs::directory_entry& entry : fs::directory_iterator(paths_.ipc_dir(), error))
    if (!pods.contains(entry.path().filename())) report(remove_ipc_namespace(entry.path()));
  for (const std::string& hierarchy : cgroup_directories(paths_.cgroup()))
    for (const fs::directory_entry& entry : fs::directory_iterator(hierarchy, error))
      if (entry.is_directory(error) && !pods.contains(entry.path().filename()))
        report(remove_cgroup(paths_.pod_cgroup(entry.path().filename())));
  for (const fs::directory_entry& entry : fs::directory_iterator(paths_.exits(), error))
    if (!runs.contains(entry.path().filename())) report(remove_tree(entry.path()));
  for (const fs::directory_entry& entry : fs::directory_iterator(paths_.pods(), error)) {
    if (pods.contains(entry.path().filename())) continue;
    // A mount that is left there may be somebody's volume.
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
  CHECK(!record_fault(record), record_fault(record).value_or(""));
  const std::string path = paths_.pod(record.uid) + "/state.json";
  const std::string text = json::serialize(json::encode(record));
  // A file made and one removed are the dearest part of a step where many pods come and go.
  if (read_file(path).value_or("") == text) return {};
  return replace_file(path, text, 0600);
}

Result<std::string> LinuxMachine::take_address() {
  std::optional<std::uint32_t> address = addresses_.take();
  if (!address) return fail(Code::unavailable, "no free pod address");
  return ipv4_text(*address);
}

void LinuxMachine::release_address(const std::string& address) {
  if (auto parsed = parse_ipv4(address)) addresses_.release(*parsed);
}

// The kernel gets ready for the runtime's moves while we do the rest.
void LinuxMachine::expect_launch() {
  if (is_rootless() || std::exchange(*expecting_launch_, true)) return;
  background_on<void>(
      *probe_pool_,
      []() -> Result<void> {
        precede_moves();
        return {};
      },
      [expecting = expecting_launch_](const Result<void>&) { *expecting = false; });
}

void LinuxMachine::make_sandbox(SandboxRequest request, Done<void> done) {
  expect_launch();
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
  const std::string* texts[] = {&request.files.hosts, &request.files.hostname,
                                &request.files.resolv_conf};
  for (std::size_t i = 0; i < std::size(kPodFiles); ++i) TRY(write(kPodFiles[i], *texts[i]));
  TRY(lay_out_volumes(dir + "/volumes", request.volumes));
  if (auto address = parse_ipv4(request.record.address))
    TRY(network_->add_pod(request.record.uid, *address));
  if (!request.host_ipc) {
    TRY(network_->elsewhere([&] { return make_ipc_namespace(paths_.ipc(request.record.uid)); }));
    TRY(mount_shared_memory(shm_dir(paths_, request.record.uid)));
  }
  // That it stands is saved with the first container: else it is made once more, but for its first
  // process.
  if (!request.record.share_processes) return {};
  TRY(start_pause(paths_.pod_cgroup(request.record.uid) + "/pause", dir + "/pause.pid"));
  PodRecord ready = request.record;
  ready.sandbox = true;
  return save(ready);
}

void LinuxMachine::find_image(const ImageReference& image, Done<std::optional<StoredImage>> done) {
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

void LinuxMachine::make_image(const std::string& recipe, BuildProgress progress,
                              Done<StoredImage> done) {
  auto find = [this, recipe]() -> Result<std::optional<StoredImage>> {
    return images_.find(recipe_reference(TRY(find_recipe(recipe))));
  };
  auto answer = std::make_shared<Done<StoredImage>>(std::move(done));
  auto built = [this, find, recipe, answer](const Result<void>& outcome) {
    if (!outcome) return (*answer)(std::unexpected(outcome.error()));
    auto find_now = [find, recipe]() -> Result<StoredImage> {
      std::optional<StoredImage> found = TRY(find());
      if (found) return std::move(*found);
      return fail(Code::unavailable, "recipe " + recipe + ": the image was removed again");
    };
    background<StoredImage>(find_now, std::move(*answer));
  };
  auto looked = [this, recipe, progress = std::move(progress), built,
                 answer](Result<std::optional<StoredImage>> found) {
    if (!found) return (*answer)(std::unexpected(found.error()));
    if (*found) return (*answer)(std::move(**found));
    if (Result<Recipe> known = find_recipe(recipe)) progress(known->cost());
    builds_.build(recipe, progress, built);
  };
  background<std::optional<StoredImage>>(find, looked);
}

void LinuxMachine::launch(LaunchRequest request, Done<Launch> done) {
  expect_launch();
  background<Launch>([this, request = std::move(request)]() mutable { return launch_now(request); },
                     std::move(done));
}

void LinuxMachine::signal(const PodRecord& record, const ContainerRun& run, int number) {
  background<void>([this, id = run.id, number] { return runtime_.signal(id, number); },
                   [name = record.name](Result<void> sent) {
                     if (!sent)
                       log_warn("agent", "signal a container",
                                {{"pod", name}, {"error", sent.error().message}});
                   });
}

void LinuxMachine::resize(const PodRecord& record, const ContainerRun& run, const Limits& limits,
                          const Limits& pod_limits, Done<void> done) {
  background<void>(
      [this, record, id = run.id, bundle = bundle_dir(record, run), cgroup = cgroup_of(record, run),
       pod = paths_.pod_cgroup(record.uid), limits, pod_limits]() -> Result<void> {
        // The kernel would take back what it can and kill for the rest.
        if (auto usage = cgroup_usage(cgroup);
            usage && limits.memory_limit_bytes && usage->memory_bytes > *limits.memory_limit_bytes)
          return fail(Code::conflict, "attempting to set memory limit (" +
                                          std::to_string(*limits.memory_limit_bytes) +
                                          ") below current usage (" +
                                          std::to_string(usage->memory_bytes) + ")");
        TRY(limit_pod(pod, pod_limits, true));
        TRY(runtime_.update(id, bundle, oci_limits(limits)));
        TRY(limit_pod(pod, pod_limits, false));
        return save(record);
      },
      std::move(done));
}

void LinuxMachine::probe(const PodRecord& record, std::size_t container, const ProbeAction& action,
                         Done<ProbeOutcome> done) {
  const ContainerRun& run = *record.containers[container].current;
  ProbeTarget target{
      record.uid, record.host_network ? "127.0.0.1" : record.address, record.host_network,
      ExecPlace{runtime_.program(), paths_.crun_root(), run.id, bundle_dir(record, run),
                paths_.exec_dir() + "/" + std::to_string(++exec_number_)},
      options_.own_ranges};
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
  struct stat info{};
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
      [this, record = std::move(record), container]() -> Result<void> {
        TRY(save(record));
        // Saved with the next step: what is gone can be removed again.
        return remove_run(record, *record.containers[container].current);
      },
      std::move(done));
}

Result<void> LinuxMachine::remove_run(const PodRecord& record, const ContainerRun& run) {
  const std::string bundle = bundle_dir(record, run);
  TRY(runtime_.remove(run.id, bundle, cgroup_of(record, run)));
  log_keeper_->end(run.id);
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
        std::error_code ignored;
        if (!fs::exists(paths_.pod(record.uid), ignored))
          return {};  // rejected: nothing was ever made
        record.sandbox = false;
        record.address.clear();
        return save(record);
      },
      std::move(done));
}

Result<void> LinuxMachine::dismantle_now(const PodRecord& record) {
  TRY(network_->remove_pod(record.uid));
  TRY(remove_cgroup(paths_.pod_cgroup(record.uid)));
  TRY(remove_ipc_namespace(paths_.ipc(record.uid)));
  TRY(unmount_shared_memory(shm_dir(paths_, record.uid)));
  std::error_code ignored;
  if (const std::string shared = shared_dir(paths_, record.uid); fs::exists(shared, ignored))
    TRY(unmount_below(shared));
  stop_pause(paths_.pod(record.uid) +
             "/pause.pid");  // which no control group has ended where there is none
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
  if (record.job && !record.rejected)
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
      [this, cgroups = std::move(cgroups)]() -> Result<UsageReading> {
        UsageReading reading = TRY(read_machine_usage());
        reading.cgroups = container_usages(paths_, cgroups);
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
    if (auto read = container_usages(paths_, {&cgroup, 1}).front())
      one.memory_bytes = read->memory_bytes;
    use.processes += process_count(cgroup);
    if (pod.disk)
      one.disk_bytes = tree_bytes(bundle_dir(pod.record, *container.current) + "/upper") +
                       tree_bytes(bundle_dir(pod.record, *container.current) + "/laid-upper") +
                       tree_bytes(container_dir(paths_, pod.record.uid, container.name));
    use.containers.push_back(std::move(one));
  }
  if (!pod.disk) return use;
  for (const char* name : kPodFiles) use.file_bytes += tree_bytes(dir + "/" + name);
  for (const std::string& name : pod.empty_dirs)
    use.volumes[name] = tree_bytes(dir + "/volumes/" + name);
  return use;
}

// Counting files takes its time: it has a thread of its own.
void LinuxMachine::measure_uses(std::vector<MeasuredUse> pods, Done<std::vector<PodUse>> done) {
  const bool slow = std::ranges::any_of(pods, &MeasuredUse::disk);
  background_on<std::vector<PodUse>>(
      slow ? *disk_pool_ : *pool_,
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
      *disk_pool_,
      [this]() -> Result<void> {
        TRY(images_.prune([this] { return images_of_pods(paths_.pods()); }, now(), false));
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
  ExecPlace place{runtime_.program(), paths_.crun_root(), run.id, bundle_dir(record, run),
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

void LinuxMachine::check_rules(const std::string& name, std::string rules, Done<void> done) {
  background<void>(
      [this, name, rules = std::move(rules)] { return network_->check_rules(name, rules); },
      std::move(done));
}

Result<void> LinuxMachine::remove_instance() {
  exits_.reset();
  return blocking<void>([this]() -> Result<void> {
    TRY(namespace_->enter());
    TRY(network_->remove());
    TRY(remove_cgroup(paths_.cgroup()));
    ::umount2(paths_.runtime_mount().c_str(),
              MNT_DETACH);  // without root it is where the directory is removed
    return namespace_->remove(paths_);
  });
}

}  // namespace hekla::agent
