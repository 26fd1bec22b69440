// PodMachine on this machine. Lives on the agent's executor; its blocking work runs on its own
// pool, whose threads are in the instance's mount namespace.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/image/host_image.h"
#include "agent/logs/kept_logs.h"
#include "agent/machine/recipe_builds.h"
#include "agent/network/pod_network.h"
#include "agent/os/file_watch.h"
#include "agent/pod/pod_machine.h"
#include "agent/pressure/eviction.h"
#include "agent/pressure/usage.h"
#include "agent/runtime/container_runtime.h"
#include "agent/runtime/exec_process.h"
#include "agent/runtime/log_files.h"
#include "base/executor.h"
#include "base/loop.h"

namespace hekla::agent {

// A pod to be measured for eviction.
struct MeasuredUse {
  PodRecord record;
  bool disk = false;                    // its files are counted too
  std::vector<std::string> empty_dirs;  // volumes
};

struct LinuxMachineOptions {
  std::string data_dir;  // absolute
  RuntimePrograms programs;
  Subnet subnet;
  std::vector<std::string> hidden_paths;
  RegistryOptions registries;
  net::OwnRanges own_ranges;  // of pods and services: nothing goes there from the host's network
  std::string service_cidr, pod_cidr;
  bool outside = true;            // pods may reach the world outside, where pasta is installed
  bool link_local = false;        // 169.254.0.0/16 belongs to that
  std::int64_t pod_max_pids = 0;  // of all containers of a pod together; 0: no limit
  int threads = 4;
};

class LinuxMachine final : public PodMachine {
  struct Private {};

 public:
  // Blocks: namespaces, bridge, mask layer, and what an earlier process left. `on_exit` is posted
  // when a container has ended (empty id: look at all).
  static Result<std::unique_ptr<LinuxMachine>> open(
      LinuxMachineOptions options, Executor& executor,
      std::function<void(const std::string& id)> on_exit);
  LinuxMachine(Private, LinuxMachineOptions options, Executor& executor);
  ~LinuxMachine() override;

  const InstancePaths& paths() const { return paths_; }
  // The pods an earlier process was running.
  const std::vector<PodRecord>& found() const { return found_; }
  // The instance was made by this process: no network was there.
  bool is_new() const { return namespace_->is_new(); }
  const KeptLogs& kept_logs() const { return kept_logs_; }
  void remove_kept_logs(const std::string& job_uid);
  void trim_kept_logs();

  Result<std::string> take_address() override;
  void release_address(const std::string& address) override;
  void make_sandbox(SandboxRequest request, Done<void> done) override;
  void find_image(const ImageReference& image, Done<std::optional<StoredImage>> done) override;
  void pull_image(const ImageReference& image, RegistryLogins logins,
                  Done<StoredImage> done) override;
  void make_image(const std::string& recipe, BuildProgress progress,
                  Done<StoredImage> done) override;
  // Pulls and builds fail from now on, also those under way: nobody waits for them any more.
  void stop_pulling() {
    stopping_ = true;
    builds_.stop();
  }
  void launch(LaunchRequest request, Done<Launch> done) override;
  void signal(const PodRecord& record, const ContainerRun& run, int number) override;
  void resize(const PodRecord& record, const ContainerRun& run, const Limits& limits,
              const Limits& pod_limits, Done<void> done) override;
  void probe(const PodRecord& record, std::size_t container, const ProbeAction& action,
             Done<ProbeOutcome> done) override;
  void inspect(std::shared_ptr<const model::Pod> pod, PodRecord record,
               Done<PodRecord> done) override;
  void remove_container(PodRecord record, std::size_t container, Done<void> done) override;
  void dismantle(PodRecord record, Done<void> done) override;
  void erase(PodRecord record, Done<void> done) override;
  void refresh_volumes(const std::string& uid, std::vector<VolumePlan> volumes) override;

  // Whether pods have a way to the outside.
  bool reaches_outside() const { return reaches_outside_; }
  // Opens it, and opens it again when whatever carries it has ended; called from time to time.
  void check_uplink();

  // Of the whole machine and of each of these cgroups.
  void measure(std::vector<std::string> cgroups, Done<UsageReading> done);
  std::string cgroup_of(const PodRecord& record, const ContainerRun& run) const;

  // Readings of what the machine has left, and of what pods use (in order; uid and pod are left
  // empty).
  void read_node(Done<NodeReadings> done);
  void measure_uses(std::vector<MeasuredUse> pods, Done<std::vector<PodUse>> done);
  void list_images(Done<std::vector<StoredImage>> done);
  // An image that a pod has come to use meanwhile is an error.
  void remove_images(std::vector<std::string> names, Done<Removed> done);
  // All that no pod uses; at once, or not at all while one is being pulled.
  void prune_images(Done<void> done);

  // A process beside the container's own.
  void start_exec(const PodRecord& record, std::size_t container, ExecSpec spec,
                  Done<StartedExec> done);
  AttachPlace attach_place(const PodRecord& record, std::size_t container) const;
  // A whole directory tree, without blocking.
  void remove_storage(const std::string& path, Done<void> done);
  // A socket inside the pod's network namespace, non-blocking.
  void pod_socket(const PodRecord& record, Done<FileDescriptor> done);

  // A socket in the parent namespace (type SOCK_STREAM, SOCK_DGRAM). Blocks.
  Result<FileDescriptor> parent_socket(int type);
  // A socket there without blocking, non-blocking itself.
  void dial_parent(int type, Done<FileDescriptor> done);
  // crun, runc.
  const std::string& runtime_name() const { return runtime_name_; }
  // nftables rules of the parent namespace, under a name of their own.
  void set_rules(const std::string& name, std::string rules, Done<void> done);
  void check_rules(const std::string& name, std::string rules, Done<void> done);
  // Removes namespaces, bridge and run directory. Only when no pod is left; blocks.
  Result<void> remove_instance();

 private:
  template <class T>
  void background(std::move_only_function<Result<T>()> work, Done<T> done) {
    background_on<T>(*pool_, std::move(work), std::move(done));
  }
  template <class T>
  void background_on(WorkerPool& pool, std::move_only_function<Result<T>()> work, Done<T> done);
  template <class T>
  Result<T> blocking(std::move_only_function<Result<T>()> work);

  void expect_launch();
  std::vector<std::string> networks_kept_inside() const;

  // The rest runs on the pool.
  Result<void> prepare();
  Result<void> save(const PodRecord& record) const;
  Result<void> sandbox_now(const SandboxRequest& request);
  Result<Launch> launch_now(LaunchRequest& request);
  Result<void> refine_volumes(const LaunchRequest& request, std::vector<OciMount>& mounts,
                              BundleSpec& bundle) const;
  Result<void> limit_whole_pod(const LaunchRequest& request) const;
  Result<void> mount_root(LaunchRequest& request, const std::string& bundle);
  Result<std::string> pid_namespace(const PodRecord& record,
                                    const ContainerRecord& container) const;
  Result<BundleSpec> complete_bundle(const LaunchRequest& request, const std::string& bundle);
  PodUse measure_pod(const MeasuredUse& pod) const;
  Result<PodRecord> inspect_now(const model::Pod& pod, PodRecord record);
  Result<void> inspect_run(const model::Pod& pod, PodRecord& record, ContainerRecord& container);
  Result<void> remove_run(const PodRecord& record, const ContainerRun& run);
  Result<void> dismantle_now(const PodRecord& record);
  Result<void> erase_now(const PodRecord& record);
  void sweep();
  std::string bundle_dir(const PodRecord& record, const ContainerRun& run) const;
  WallTime now() const { return executor_.clock().wall(); }

  LinuxMachineOptions options_;
  std::atomic<bool> stopping_ = false;
  Executor& executor_;
  InstancePaths paths_;
  AddressPool addresses_;
  ContainerRuntime runtime_;
  std::string runtime_name_;
  HostImage image_;
  ImageStore images_;
  RecipeBuilds builds_;
  KeptLogs kept_logs_;
  std::unique_ptr<InstanceNamespace> namespace_;
  std::unique_ptr<PodNetwork> network_;
  std::vector<PodRecord> found_;
  bool reaches_outside_ = false;
  struct Outside {
    bool busy = false, failing = false;
  };
  std::shared_ptr<Outside> outside_ = std::make_shared<Outside>();
  std::uint64_t exec_number_ = 0;
  std::shared_ptr<bool> expecting_launch_ = std::make_shared<bool>(false);
  std::unique_ptr<FileWatch> exits_;
  std::unique_ptr<LogKeeper> log_keeper_;
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<WorkerPool> probe_pool_;
  std::unique_ptr<WorkerPool> hook_pool_;   // of their own: a hook may take as long as it likes
  std::unique_ptr<WorkerPool> image_pool_;  // one thread: images are pulled one after the other
  std::unique_ptr<WorkerPool>
      disk_pool_;  // of its own: a pull may take long, and eviction must not wait for it
};

}  // namespace hekla::agent
