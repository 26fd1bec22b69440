// The life of one pod on this machine: Pending, ContainerCreating, Running, Succeeded or Failed,
// gone.
//
// Level-triggered: everything that happens (a new revision of the pod, a container's end, a timer,
// the end of a piece of work) leads to step(), which looks at record, spec and time and begins at
// most one piece of work. The work itself is done by parts with a state of their own. Lives on the
// agent's executor.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/dns/zone.h"
#include "agent/pod/pod_plan.h"
#include "agent/pod/worker/container_launch.h"
#include "agent/pod/worker/container_stops.h"
#include "agent/pod/worker/image_pull.h"
#include "agent/pod/worker/pod_probes.h"
#include "agent/pod/worker/pod_removal.h"
#include "agent/pod/worker/pod_sandbox.h"
#include "agent/pod/worker/pod_state.h"
#include "agent/pod/worker/resize.h"
#include "agent/pod/worker/status_report.h"

namespace hekla::agent {

class PodWorker : public std::enable_shared_from_this<PodWorker> {
 public:
  // `adopted`: an earlier process has begun the pod, and the machine is asked first.
  PodWorker(PodContext& context, AgentPodPtr pod, PodRecord record, bool adopted);

  void start();
  // A new revision of the pod.
  void update(AgentPodPtr pod);
  // The pod is no longer in the API (or has left this node).
  void vanish();
  // A container may have ended.
  void look();
  // The node is short of something, or the pod of its own limits: it fails, and stays in the API.
  void evict(const std::string& message, Nanos grace);
  // The agent is going down and takes its pods along.
  void shut_down();
  // Re-reads ConfigMaps and Secrets into mounted volumes.
  void refresh_volumes() { sandbox_.refresh_volumes(); }

  const AgentPodPtr& pod() const { return state_.pod; }
  const PodRecord& record() const { return state_.record; }
  const model::PodStatus& status() const { return status_.status(); }
  // For DNS; nothing while there is no address.
  std::optional<PodAddress> address() const;
  bool has_run(const std::string& id) const;

 private:
  void step();
  void step_run();
  void step_end();
  void step_over();
  void choose_ending();
  bool pass_deadline();
  void finish_ending();
  void admit();
  void inspect();
  void follow_runs();
  void on_started(std::size_t container);
  void note_backing_off(const PodDecision& decision);
  bool remove_exited();
  void report() { status_.update(probes_.views(), resize_.view()); }

  PodState state_;
  PodProbes probes_;
  ContainerStops stops_;
  ImagePull images_;
  ContainerLaunch launch_;
  PodSandbox sandbox_;
  Resize resize_;
  StatusReport status_;
  PodRemoval removal_;
  bool look_again_ = false;            // a container may have ended since the look under way began
  std::set<std::string> left_behind_;  // runs that could not be removed
};

}  // namespace hekla::agent
