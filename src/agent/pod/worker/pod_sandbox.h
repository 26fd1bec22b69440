// The surroundings of a pod's containers: address, network, volumes, the files that all of them
// see; and the network policies that hold for it. Lives inside the pod's worker.
#pragma once

#include <optional>
#include <string>

#include "agent/pod/worker/pod_state.h"
#include "agent/pod/worker/volume_objects.h"

namespace hekla::agent {

class PodSandbox {
 public:
  explicit PodSandbox(PodState& state);

  // Containers may be started: all is in place and the policies hold for the pod's address.
  bool is_ready() const { return state_.record.sandbox && policies_hold_; }
  // Does what is missing, now or when the last failure is old enough.
  void advance();
  // New contents of ConfigMaps and Secrets for the volumes of a running pod.
  void refresh_volumes();

 private:
  void make();
  void check_runtime_class(Done<void> done);
  void fetch_and_plan();
  void plan(const PodSources& sources);
  Result<std::vector<VolumePlan>> volumes(const PodSources& sources) const;
  std::optional<Refusal> refusal() const;
  void await_policies();
  void on_failure(const Refusal& why);

  PodState& state_;
  VolumeObjects objects_;
  bool policies_hold_;  // for the address it has
  int failures_ = 0;    // in a row
  WallTime retry_at_{};
};

}  // namespace hekla::agent
