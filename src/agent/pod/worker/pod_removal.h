// The last steps of a pod whose containers have ended: network and volumes go, the API forgets it,
// nothing is left on the machine. Lives inside the pod's worker.
#pragma once

#include <optional>

#include "agent/pod/worker/pod_state.h"
#include "agent/pod/worker/status_report.h"

namespace hekla::agent {

class PodRemoval {
 public:
  PodRemoval(PodState& state, StatusReport& status) : state_(state), status_(status) {}

  // Takes network and volumes away; logs and record stay. Again after a failure.
  void dismantle();
  // Deletes the pod from the API once that has its last status, then erases it.
  void remove();
  // Takes everything away. Again after a failure; the observer hears of the end.
  void erase();
  // The pod is erased: the worker does nothing any more.
  bool is_over() const { return over_; }

 private:
  void check_ended() const;
  void release_address();
  bool is_early(const std::optional<WallTime>& due) const;

  PodState& state_;
  StatusReport& status_;
  bool dismantled_ = false, removed_from_api_ = false, over_ = false;
  std::optional<WallTime> dismantle_after_, erase_after_;  // the last attempt failed
};

}  // namespace hekla::agent
