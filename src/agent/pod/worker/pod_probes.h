// Probes and lifecycle hooks of a pod's containers: probes follow the runs, also after an adoption.
// Lives inside the pod's worker.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/pod/worker/pod_state.h"
#include "agent/probes/container_probes.h"

namespace hekla::agent {

class PodProbes {
 public:
  // Ends a container's run for a reason, within a time.
  using Stop = std::function<void(std::size_t container, const std::string& why, Nanos grace)>;
  PodProbes(PodState& state, Stop stop) : state_(state), stop_(std::move(stop)) {}

  // Begins the probes of a running container unless they run already or its postStart hook does.
  void begin(std::size_t container);
  // The run has ended, and its hook with it.
  void end(const std::string& container);
  // The container has been asked to end: its probes have nothing to say any more.
  void pause(const std::string& container);
  // Runs the postStart hook of a container that has just been started. False when it has none.
  bool post_start(std::size_t container);
  // Carries out a hook or a probe; `done` is left out once the worker is gone.
  void run_action(std::size_t container, const ProbeAction& action, Done<ProbeOutcome> done);

  bool is_started(std::size_t container) const;
  std::map<std::string, ProbeView> views() const;

 private:
  ContainerProbes::Known known_of(const ContainerRun& run, const std::string& name) const;
  ContainerProbes::Callbacks callbacks_for(std::size_t container);

  PodState& state_;
  Stop stop_;
  std::map<std::string, std::shared_ptr<ContainerProbes>> probes_;  // of running containers
  std::set<std::string> post_starting_;  // containers whose postStart hook runs
};

// An init container that has an end, and nobody asks whether it is ready.
inline bool is_plain_init(const ContainerRecord& container) {
  return container.init && !container.sidecar;
}

}  // namespace hekla::agent
