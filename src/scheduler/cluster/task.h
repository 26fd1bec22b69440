// A task is the scheduler's word for one pod.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "scheduler/cluster/ids.h"

namespace hekla::scheduler {

enum class TaskStatus : std::uint8_t {
  pending,
  allocated,  // given a node in this session, not yet committed
  pipelined,  // waits for resources that are being released, within this session
  binding,    // committed; the API has not confirmed yet
  bound,
  running,
  releasing,
  succeeded,
  failed,
  unknown,
};
inline constexpr std::size_t kTaskStatuses = 10;

// Volcano's spelling, as it stands in messages.
constexpr std::string_view name_of(TaskStatus status) {
  constexpr std::array<std::string_view, kTaskStatuses> names{
      "Pending", "Allocated", "Pipelined", "Binding", "Bound",
      "Running", "Releasing", "Succeeded", "Failed",  "Unknown"};
  return names[static_cast<std::size_t>(status)];
}

constexpr bool is_allocated(TaskStatus s) {
  return s == TaskStatus::bound || s == TaskStatus::binding || s == TaskStatus::running ||
         s == TaskStatus::allocated;
}
constexpr bool is_completed(TaskStatus s) {
  return s == TaskStatus::succeeded || s == TaskStatus::failed;
}

// A persistent volume claim the pod mounts; an ephemeral one is made for it.
struct ClaimUse {
  ClaimId claim;
  bool ephemeral = false;
};

// The whole cores of a container in a Guaranteed pod; 0: it has no whole number of them.
struct ExclusiveCpus {
  std::string name;
  std::int32_t cpus = 0;
};

// What a container asks of shared GPUs.
struct DeviceRequest {
  bool init = false;
  std::int64_t gpu_memory = 0, gpu_number = 0;
  std::int64_t vgpu_number = 0, vgpu_memory = 0, vgpu_percent = 0, vgpu_cores = 0;
};

// A ResourceClaim the pod uses, by its name in the pod; the object's name is empty until the claim
// of a template has been made.
struct DeviceClaim {
  std::string name, object;
};

struct Task {
  std::string ns, name, uid;
  std::string scheduler_name;
  JobId job;  // invalid: a pod of another scheduler that only uses up its node
  ClassId pod_class;
  LabelSetId labels;
  NodeId node;
  TaskStatus status = TaskStatus::pending;
  bool live = false;
  bool ours = false;         // its schedulerName is one of mine
  bool gated = false;        // has scheduling gates
  bool best_effort = false;  // requests nothing but its place on the node
  bool preemptable = true;
  bool evicting = false;      // deleted by this scheduler; the watch may not know yet
  bool preempts = true;       // preemptionPolicy is not Never
  bool critical = false;      // kube-system or a system-*-critical class
  std::uint16_t role = 0;     // index into the job's roles
  std::uint16_t sub_job = 0;  // index into the job's sub_jobs, if it has any
  std::int32_t priority = 1;
  std::int64_t index = -1;  // the number at the end of the pod's name
  WallTime created{};
  WallTime started{};      // status.startTime
  WallTime scheduled{};    // since when PodScheduled is true
  bool revocable = false;  // may use nodes of a revocable zone
  NodeId nominated;        // status.nominatedNodeName
  std::vector<ClaimUse> claims;
  std::vector<DeviceClaim> device_claims;
  std::vector<DeviceRequest> devices;    // by container, of those that ask
  std::vector<ExclusiveCpus> exclusive;  // by container; empty unless the pod is Guaranteed
  std::vector<std::pair<std::string, std::string>> annotations;  // of the pod, those plugins read

  // Empty when absent.
  std::string_view annotation(std::string_view name) const {
    for (const auto& [key, value] : annotations)
      if (key == name) return value;
    return {};
  }

  // The state a discarded statement had given this task, for messages; valid if the stamp is the
  // session's.
  TaskStatus last_status = TaskStatus::pending;
  NodeId last_node;
  std::uint64_t last_stamp = 0;
  // The session that evicted pods for this one.
  std::uint64_t nominated_stamp = 0;
  // The PodScheduled condition last written for it.
  std::uint64_t condition_digest = 0;
};

}  // namespace hekla::scheduler
