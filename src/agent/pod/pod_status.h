// The status of a pod as the API shows it, computed from its record. Pure.
#pragma once

#include <map>
#include <string>

#include "agent/record/pod_record.h"
#include "json/value.h"

namespace hekla::agent {

struct WaitingReason {
  std::string reason, message;
};

// The results of a running container's probes.
struct ProbeView {
  bool started = true, ready = true;
};

// How far another amount of cpu or memory for the pod's containers has come.
struct ResizeView {
  std::string pending, message;  // Deferred or Infeasible, and why
  bool under_way = false;
  std::string error;  // of the last attempt
  bool operator==(const ResizeView&) const = default;
};

struct StatusInput {
  const model::Pod& pod;  // the API's latest
  const PodRecord& record;
  // Why containers do not run yet or again, by name; the default is ContainerCreating.
  std::map<std::string, WaitingReason> waiting;
  std::string host_ip, pod_ip;
  WallTime now;
  // Transition times are kept where the status of a condition has not changed.
  const std::vector<model::PodCondition>& previous;
  std::map<std::string, ProbeView> probes = {};  // by container; absent ones have nothing to say
  std::vector<std::string> readiness_gates = {};
  ResizeView resize = {};
};

model::PodStatus compute_status(const StatusInput& input);
std::vector<model::ContainerStatus> ephemeral_statuses(const StatusInput& input);

// The strategic merge patch that brings the API's status to `status`. Conditions of other writers
// (PodScheduled, DisruptionTarget) stay: the list is merged by type. `known` are those the API has,
// `generation` that of the spec which the status is about.
json::Value status_patch(const PodRecord& record, const model::PodStatus& status,
                         const std::vector<model::ContainerStatus>& ephemeral = {},
                         const std::vector<model::PodCondition>& known = {},
                         std::int64_t generation = 0);

// Ready as the API will say, for DNS: the agent knows first.
bool is_ready(const model::PodStatus& status);

}  // namespace hekla::agent
