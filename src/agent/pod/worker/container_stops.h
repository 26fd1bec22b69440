// Containers that have been asked to end: preStop hook, SIGTERM or what the image says, and SIGKILL
// after the grace period. Lives inside the pod's worker.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/pod/worker/pod_probes.h"
#include "agent/pod/worker/pod_state.h"

namespace hekla::agent {

class ContainerStops {
 public:
  ContainerStops(PodState& state, PodProbes& probes) : state_(state), probes_(probes) {}

  // Asks a running container to end; the first request counts.
  void stop(std::size_t container, const std::string& why, Nanos grace);
  // All of these within one grace period of the pod; sidecars after the containers they serve.
  void stop_all(const std::vector<std::size_t>& containers);
  // Ends a run, so that another one begins as the spec says now.
  void replace(std::size_t container, const std::string& why);
  // Sends the signals that are due, again from time to time, and wakes for the next.
  void signal_due();

  bool is_stopping(const std::string& container) const { return stops_.contains(container); }
  // The run has ended.
  void forget(const std::string& container) { stops_.erase(container); }

 private:
  struct Stop {
    WallTime begun;
    Nanos grace{};
    bool in_turn = false;  // the signal waits until those that the container serves have ended
    bool hook_runs = false, signalled = false;
    std::optional<WallTime> earliest_kill, last_kill;
  };
  void begin(std::size_t container, const std::string& why, const Stop& how);
  Nanos limit_of(const Stop& stop) const;
  bool serves_others(std::size_t container) const;
  void send_term(std::size_t container, Stop& stop);

  PodState& state_;
  PodProbes& probes_;
  std::map<std::string, Stop> stops_;  // by container
  std::optional<WallTime> begun_;      // of the pod as a whole
};

}  // namespace hekla::agent
