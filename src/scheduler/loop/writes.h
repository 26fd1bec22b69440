// Decisions as API writes. Pure functions of the cluster state.
#pragma once

#include <string>

#include "kube/client.h"
#include "kube/events.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/session/decisions.h"

namespace hekla::scheduler {

// A v1 Binding; the uid keeps it from reaching a namesake that was created meanwhile.
// With the annotations of its preparation, which may be null.
kube::Write bind_write(const Cluster& cluster, const BindDecision& decision,
                       const BindPreparation* preparation = nullptr);
// A claim that waits for its first pod: its volume is kept for it, or one is asked for on the node.
// The devices a claim has been given, and who uses it. `finalizers`: those the claim has.
std::vector<kube::Write> device_claim_writes(const BindPreparation::DeviceDecision& claim,
                                             const std::vector<std::string>& finalizers);
kube::Write claim_write(const BindPreparation::ClaimDecision& claim, const std::string& node);
// The group's whole status as a merge patch of the object: PodGroup has no status subresource.
kube::Write group_write(const Cluster& cluster, JobId job);
// PodScheduled=False, merged by condition type.
kube::Write pod_condition_write(const Cluster& cluster, const PodConditionDecision& decision,
                                WallTime now);
// allocated, reservation and the counts; the state belongs to the queue controller.
kube::Write queue_write(const Cluster& cluster, QueueId queue);
kube::Write create_queue_write(const std::string& name, bool reclaimable);
// What the evicted pod's status says: not ready, and disrupted by the scheduler.
kube::Write evicted_condition_write(const Cluster& cluster, const EvictDecision& decision,
                                    WallTime now);
kube::Write evict_write(const Cluster& cluster, const EvictDecision& decision);

kube::EventTarget target_of(const Task& task);
kube::EventTarget target_of(const Job& job);

}  // namespace hekla::scheduler
