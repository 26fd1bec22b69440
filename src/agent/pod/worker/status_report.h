// The status of a pod as last computed, and its way to the API: one write at a time, the newest
// status wins, a write that failed is repeated. Lives inside the pod's worker.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/pod/worker/pod_state.h"

namespace hekla::agent {

class StatusReport {
 public:
  explicit StatusReport(PodState& state) : state_(state) {}

  // Computes the status anew, and sends it unless the API has it.
  void update(std::map<std::string, ProbeView> probes, const ResizeView& resize);
  // The API no longer has the pod.
  void silence() { silent_ = true; }

  const model::PodStatus& status() const { return status_; }
  // Something has been sent since this process knows the pod.
  bool has_spoken() const { return sent_.has_value(); }
  // The API has answered to the latest status.
  bool is_settled() const { return !in_flight_ && !dirty_; }

 private:
  json::Value patch() const;
  void send();
  void on_sent(const kube::WriteResult& result);

  PodState& state_;
  model::PodStatus status_;
  std::vector<model::ContainerStatus> ephemeral_;
  std::optional<json::Value> sent_;
  bool in_flight_ = false, dirty_ = false, silent_ = false;
};

}  // namespace hekla::agent
