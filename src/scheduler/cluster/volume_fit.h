// Whether a pod's claims let it onto a node: the Kubernetes filters about volumes as pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "scheduler/cluster/cluster.h"

namespace hekla::scheduler {

enum class VolumeConflict : std::uint8_t {
  none,
  once_pod,      // another pod has a claim that only one may have
  unreachable,   // a bound volume is elsewhere
  nothing_fits,  // neither a free volume nor one to be made
  no_volume,     // bound to a volume that does not exist
  zone,
  limit,
};
// kube-scheduler's words.
std::string_view words_for(VolumeConflict conflict);

// Why the task can go nowhere, in kube-scheduler's words; empty if nothing speaks against it yet.
std::string blocked_claims(const Cluster& cluster, const Task& task);

struct VolumeChecks {
  bool binding = true, zone = true, limits = true;
};
VolumeConflict volume_conflict(const Cluster& cluster, TaskId task, NodeId node,
                               const VolumeChecks& checks);

// What each claim that waits for its first pod gets if the task takes the node: a volume, or none
// (one is to be made there).
struct ClaimPlan {
  ClaimId claim;
  VolumeId volume;
};
std::vector<ClaimPlan> plan_claims(const Cluster& cluster, const Task& task, NodeId node);

}  // namespace hekla::scheduler
