// The beginning of a container: its root, its configuration, its limits.
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "agent/machine/linux_machine.h"
#include "agent/os/files.h"
#include "agent/os/user_namespace.h"
#include "agent/record/pod_paths.h"
#include "agent/rootless/host_root.h"
#include "agent/runtime/cgroup.h"
#include "agent/runtime/devices.h"
#include "agent/runtime/one_user.h"
#include "agent/runtime/pause.h"
#include "agent/volumes/volume_store.h"
#include "base/check.h"
#include "base/disk.h"
#include "model/program_image.h"

namespace hekla::agent {

std::string log_path(const std::string& containers, const std::string& container, int attempt) {
  return containers + "/" + container + "/" + std::to_string(attempt) + ".log";
}

namespace {

// A container of the pod mounts things for the others to see.
bool is_passed_on(const model::PodSpec& spec, const std::string& volume) {
  for (const auto* containers : {&spec.initContainers, &spec.containers})
    for (const model::Container& one : *containers)
      for (const model::VolumeMount& mount : one.volumeMounts)
        if (mount.name == volume && mount.mountPropagation == "Bidirectional") return true;
  return false;
}

// The same place for all containers of the pod, so that they are peers.
Result<std::string> share_mount(const std::string& source, const std::string& place) {
  TRY(make_directories(place, 0755));
  struct stat here{}, wanted{};
  if (::stat(place.c_str(), &here) != 0 || ::stat(source.c_str(), &wanted) != 0)
    return errno_error("look at " + source);
  if (here.st_ino == wanted.st_ino && here.st_dev == wanted.st_dev) return place;
  if (::mount(source.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0 ||
      ::mount(nullptr, place.c_str(), nullptr, MS_SHARED, nullptr) != 0)
    return errno_error("share the mounts of " + source);
  return place;
}

// A program that was replaced meanwhile is the new one: it does the same work.
Result<OciMount> program_mount() {
  std::error_code error;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (constexpr std::string_view gone = " (deleted)"; path.ends_with(gone))
    path.resize(path.size() - gone.size());
  if (error || !std::filesystem::is_regular_file(path, error))
    return fail(Code::unavailable, "this program's file is gone: " + path);
  return OciMount{model::kProgramPath, "none", path, {"bind", "rprivate", "ro"}};
}

}  // namespace

// Propagation and modes of the spec's mounts. `mounts` are in the spec's order.
Result<void> LinuxMachine::refine_volumes(const LaunchRequest& request,
                                          std::vector<OciMount>& mounts, BundleSpec& bundle) const {
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const model::VolumeMount& mount = request.spec.volumeMounts[i];
    std::vector<std::string>& options = mounts[i].options;
    if (std::ranges::find(options, "ro") != options.end() &&
        request.recursive_read_only.contains(mount.mountPath))
      options.emplace_back("rro");
    const bool both_ways = mount.mountPropagation == "Bidirectional";
    if (!both_ways && mount.mountPropagation != "HostToContainer") continue;
    if (mount.subPath.empty() && is_passed_on(request.pod->spec, mount.name))
      mounts[i].source = TRY(
          share_mount(mounts[i].source, shared_dir(paths_, request.record.uid) + "/" + mount.name));
    const std::string propagation = both_ways ? "rshared" : "rslave";
    std::ranges::replace(options, std::string("rprivate"), propagation);
    if (both_ways || bundle.root_propagation.empty()) bundle.root_propagation = propagation;
  }
  return {};
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
  if (spec.host_ipc) {
    spec.shared_memory = "/dev/shm";
  } else if (is_pinned_namespace(paths_.ipc(request.record.uid))) {
    spec.ipc_namespace = paths_.ipc(request.record.uid);
    spec.shared_memory = shm_dir(paths_, request.record.uid);
  }
  if (spec.security.privileged) spec.devices = host_devices();
  std::vector<OciMount> laid = std::move(spec.mounts);
  if (!request.image || request.image->host) spec.mounts = image_.extra_mounts();
  const std::size_t first = spec.mounts.size();
  spec.mounts.insert(spec.mounts.end(), laid.begin(), laid.end());
  auto bind = [&](const std::string& source, const std::string& destination) {
    spec.mounts.push_back({destination, "none", source, {"bind", "rprivate", "rw"}});
  };
  for (const char* name : kPodFiles) bind(dir + "/" + name, std::string("/etc/") + name);
  const std::string own = container_dir(paths_, request.record.uid, container.name);
  TRY(make_directories(own));
  TRY(replace_file(own + "/termination-log", "", 0666));
  bind(own + "/termination-log", request.spec.terminationMessagePath.empty()
                                     ? "/dev/termination-log"
                                     : request.spec.terminationMessagePath);
  VolumeSources sources = volume_sources_of(*request.pod, dir + "/volumes");
  const std::string pins = pins_dir(paths_, request.record.uid, *container.current);
  std::vector<OciMount> volumes = TRY(volume_mounts(request.spec, sources, pins));
  TRY(refine_volumes(request, volumes, spec));
  for (OciMount& mount : volumes) spec.mounts.push_back(std::move(mount));
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
  CHECK(request.container < request.record.containers.size(), request.record.name);
  ContainerRecord& container = request.record.containers[request.container];
  CHECK(container.current && container.current->phase == run_phase::starting,
        "a run is recorded before it is launched");
  CHECK(request.record.sandbox, "a container has a network and volumes");
  ContainerRun& run = *container.current;
  TRY(save(request.record));
  // A log older than the previous run's can no longer be asked for.
  const std::string containers = containers_dir(paths_, request.record.uid);
  remove_log_files(log_path(containers, container.name, run.attempt - 2));
  const std::string bundle = bundle_dir(request.record, run);
  TRY(make_directories(bundle));
  if (Result<void> mounted = mount_root(request, bundle); !mounted)
    return Launch{now(), mounted.error().message};
  if (auto missing = missing_user(request.bundle.security)) return Launch{now(), *missing};
  BundleSpec spec = TRY(complete_bundle(request, bundle));
  TRY(limit_pod(paths_.pod_cgroup(request.record.uid),
                pod_limits_of(request.pod->spec, request.pod->status.qosClass), true));
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
  log_keeper_->begin(run.id, create.log_path);
  TRY(limit_whole_pod(request));
  if (Result<void> started = runtime_.start(run.id); !started)
    return Launch{now(), started.error().message};
  Launch launch{now(), std::nullopt};
  run.phase = run_phase::running;
  run.started_ns = to_ns(launch.started);
  TRY(save(request.record));
  return launch;
}

// The runtime has made the pod's cgroup on its way to the container's.
Result<void> LinuxMachine::limit_whole_pod(const LaunchRequest& request) const {
  const std::string cgroup = paths_.pod_cgroup(request.record.uid);
  if (options_.pod_max_pids > 0) TRY(limit_processes(cgroup, options_.pod_max_pids));
  return limit_pod(cgroup, pod_limits_of(request.pod->spec, request.pod->status.qosClass), false);
}

Result<void> LinuxMachine::mount_root(LaunchRequest& request, const std::string& bundle) {
  if (is_rootless() && (!request.image || request.image->host))
    for (const model::VolumeMount& mount : request.spec.volumeMounts)
      TRY(make_parents(bundle, mount.mountPath));
  if (!request.image) {
    for (OciMount& laid : TRY(image_.mount_root(bundle, request.host_image.files)))
      request.bundle.mounts.push_back(std::move(laid));
    if (request.host_image.program) request.bundle.mounts.push_back(TRY(program_mount()));
    const std::string& user = request.host_image.config.user;
    return user.empty() ? Result<void>()
                        : apply_image_user(user, bundle + "/rootfs", request.bundle.security);
  }
  const std::string base = request.image->host ? TRY(image_.mount_base(bundle)) : std::string();
  TRY(images_.mount_root(*request.image, bundle, base));
  return apply_image_user(request.image->config.user, bundle + "/rootfs", request.bundle.security);
}

}  // namespace hekla::agent
