// The life of one pod on this machine: Pending, ContainerCreating, Running, Succeeded or Failed,
// gone.
//
// Level-triggered: everything that happens (a new revision of the pod, a container's end, a timer,
// the end of a piece of work) leads to step(), which looks at record, spec and time and begins at
// most one piece of work. Lives on the agent's executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/dns/zone.h"
#include "agent/network/address_pool.h"
#include "agent/pod/pod_context.h"
#include "agent/pod/pod_plan.h"
#include "agent/pod/pod_status.h"
#include "agent/probes/container_probes.h"
#include "agent/record/agent_pod.h"
#include "agent/record/pod_record.h"

namespace hekla::agent {

class PodWorker : public std::enable_shared_from_this<PodWorker> {
 public:
  using PodRef = std::shared_ptr<const AgentPod>;

  PodWorker(PodContext& context, PodRef pod, PodRecord record, bool adopted);

  void start();
  // A new revision of the pod.
  void update(PodRef pod);
  // The pod is no longer in the API (or has left this node).
  void vanish();
  // A container may have ended.
  void look();
  // The node is short of something, or the pod of its own limits: it fails, and stays in the API.
  void evict(const std::string& message, Nanos grace);
  // The agent is going down and takes its pods along.
  void shut_down();

  const PodRef& pod() const { return pod_; }
  const PodRecord& record() const { return record_; }
  const model::PodStatus& status() const { return status_; }
  // For DNS; nothing while there is no address.
  std::optional<PodAddress> address() const;
  bool has_run(const std::string& id) const;
  // Re-reads ConfigMaps and Secrets into mounted volumes.
  void refresh_volumes();

 private:
  enum class Ending { no, deleted, vanished, deadline, evicted, shutdown };
  struct Hold {
    WallTime until;
    WaitingReason why;
    int failures = 0;
  };

  WallTime now() const;
  void step();
  void step_run();
  void replace(std::size_t container, const std::string& why);
  void note_backing_off(const PodDecision& decision);
  void step_end();
  void finish_ending();
  void remove_from_api();
  void erase();
  bool remove_exited();

  void admit();
  void make_sandbox();
  void await_policies();
  // `next` may use `this`.
  void fetch_volume_sources(std::move_only_function<void(Result<PodSources>)> next);
  void keep_tokens(PodSources& sources);
  void add_claims(PodSources sources, std::move_only_function<void(Result<PodSources>)> next);
  std::optional<std::pair<const char*, std::string>> sandbox_refusal() const;
  void check_runtime_class(std::move_only_function<void(Result<void>)> next);
  void fetch_and_plan();
  void plan_sandbox(PodSources sources);
  void sandbox_failed(const std::string& reason, const Error& error);
  void launch(std::size_t container);
  Result<void> take_gpus(std::size_t container);
  void launch_with(std::size_t container, const PodSources& sources);
  Result<LaunchRequest> launch_request(std::size_t container, const PodSources& sources);
  void add_gpus(const std::vector<std::int32_t>& cards,
                const std::function<bool(std::string_view)>& given, BundleSpec& bundle) const;
  Result<void> check_non_root(const BundleSpec& bundle, const std::string& image_user,
                              const std::string& container) const;

  // Images, in pod_images.cpp. `image_` is that of the container being launched.
  void launch_from_registry(std::size_t container);
  void pull_image(std::size_t container, const ImageReference& image);
  void image_refused(std::size_t container, const char* state, const char* reason,
                     const std::string& message);
  void pull_failed(std::size_t container, const std::string& why);
  void pulled(std::size_t container, WallTime begun, Result<StoredImage> image);
  void fetch_and_launch(std::size_t container);
  void launched(std::size_t container, Result<Launch> outcome);
  bool check_deadline();
  void stop_all(const std::vector<std::size_t>& containers);
  struct Stop {
    WallTime begun;
    Nanos grace{};
    bool in_turn = false;  // the signal waits until those that the container serves have ended
    bool hook_runs = false, signalled = false;
    std::optional<WallTime> earliest_kill, last_kill;
  };
  // Asks a running container to end: preStop hook, SIGTERM or what its image says, and SIGKILL
  // after the grace period.
  void stop_run(std::size_t container, const std::string& why, const Stop& how);
  void stop_run(std::size_t container, const std::string& why, Nanos grace);
  Nanos limit_of(const Stop& stop) const;
  void send_term(std::size_t container, Stop& stop);
  void kill_overdue();

  // Probes and hooks, in pod_probing.cpp.
  void tend_probes();
  void start_probes(std::size_t container);
  ContainerProbes::Known known_of(const ContainerRun& run, const std::string& name) const;
  void post_start(std::size_t container);
  void run_action(std::size_t container, const ProbeAction& action,
                  std::move_only_function<void(Result<ProbeOutcome>)> done);
  bool is_started(std::size_t container) const;
  std::map<std::string, ProbeView> probe_views() const;
  Nanos grace() const;

  // Other amounts of cpu and memory for running containers, in pod_resizing.cpp. True when it has
  // begun work.
  bool resize();
  bool resize_run(std::size_t container, const model::ResourceRequirements& wanted);

  void report();
  void send_status();
  void status_sent(kube::WriteResult result);
  void event(const char* type, const char* reason, const std::string& message);
  void hold(const std::string& container, WaitingReason why, Nanos delay);
  void wake_at(WallTime when);
  PodFacts facts() const;
  std::string described() const;  // name_namespace(uid), as in the kubelet's messages
  // A completion that ends the work under way, runs `next` and steps. `next` may use `this`.
  template <class T, class Next>
  Done<T> resume(Next next) {
    return [self = weak_from_this(), next = std::move(next)](Result<T> result) mutable {
      auto worker = self.lock();
      if (!worker) return;
      worker->busy_ = false;
      next(std::move(result));
      worker->step();
    };
  }

  PodContext& context_;
  PodRef pod_;
  PodRecord record_;
  model::PodStatus status_;
  std::vector<model::ContainerStatus> ephemeral_status_;
  bool inspected_;
  bool busy_ = false;
  bool gone_ = false;
  Ending ending_ = Ending::no;
  Nanos eviction_grace_{};
  std::optional<WallTime> stop_begun_;  // of the pod as a whole
  std::map<std::string, Stop> stops_;   // containers that have been asked to end, by name
  std::map<std::string, std::shared_ptr<ContainerProbes>> probes_;  // of running containers
  std::set<std::string> post_starting_;  // containers whose postStart hook runs
  std::optional<WallTime> erase_after_;
  bool dismantled_ = false;
  std::optional<WallTime> dismantle_after_;  // the last attempt failed
  bool removed_from_api_ = false;

  // By container; kSandbox is no valid name of one.
  static constexpr const char* kSandbox = "";
  std::map<std::string, Hold> holds_;
  std::set<std::string> left_behind_;  // runs that could not be removed
  struct Token {
    std::string text;
    WallTime issued;
  };
  std::map<TokenRequest, Token> tokens_;
  std::optional<WallTime> wake_;
  std::optional<json::Value> sent_status_;
  bool status_in_flight_ = false;
  bool status_dirty_ = false;
  bool look_again_ = false;
  bool policies_hold_;  // for the address it has
  std::optional<StoredImage> image_;
  std::string pulled_message_;
  ResizeView resize_;
  std::optional<WallTime> resize_after_;      // the last attempt failed
  bool pulling_ = false;                      // busy with a pull, for which an end does not wait
  int pulls_ = 0;                             // begun or given up: only the latest is listened to
  std::map<std::string, int> pull_failures_;  // in a row, by container
};

}  // namespace hekla::agent
