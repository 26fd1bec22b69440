// The kubelet's rules for a node that runs out of something: thresholds, conditions, victims and
// words. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/core.h"

namespace hekla::agent {

// memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree,
// pid.available.
struct SignalReading {
  std::int64_t available = 0, capacity = 0;
};
using NodeReadings = std::map<std::string, SignalReading>;

struct EvictionThreshold {
  std::string signal;
  std::int64_t quantity = 0;  // bytes, files or processes, unless it is
  double percent = 0;         // of the capacity, if above 0
  bool hard = true;
  Nanos grace{};  // soft: how long it must be crossed
  std::int64_t minimum_reclaim = 0;

  std::int64_t value(std::int64_t capacity) const;
};

struct EvictionFlags {
  std::string hard =
      "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,"
      "imagefs.inodesFree<5%";
  std::string soft, soft_grace_period, minimum_reclaim;
  Nanos pressure_transition = std::chrono::minutes(5);
  std::int64_t max_pod_grace_seconds = 0;  // of soft evictions
};

// "signal<quantity,..." as the kubelet's flags; the error names the flag.
Result<std::vector<EvictionThreshold>> parse_thresholds(const EvictionFlags& flags);

// The node's conditions of pressure.
struct NodePressure {
  bool memory = false, disk = false, pids = false;
  bool operator==(const NodePressure&) const = default;
};

// Remembers when thresholds were crossed and conditions last held.
class PressureTracker {
 public:
  PressureTracker(std::vector<EvictionThreshold> thresholds, Nanos transition)
      : thresholds_(std::move(thresholds)), transition_(transition) {}

  struct Met {
    EvictionThreshold threshold;
    SignalReading reading;
  };
  struct Verdict {
    NodePressure pressure;
    std::vector<Met> met;  // grace periods over; memory first
  };
  Verdict judge(const NodeReadings& readings, WallTime now);

 private:
  std::vector<EvictionThreshold> thresholds_;
  Nanos transition_;
  std::map<std::size_t, WallTime> crossed_;  // by threshold: since when
  std::map<std::string, WallTime> held_;     // by condition: last seen
  std::map<std::size_t, bool> reclaiming_;   // until the minimum is reclaimed
};

// "memory", "ephemeral-storage", "inodes" or "pids".
std::string starved_resource(const std::string& signal);

struct ContainerUse {
  std::string name;
  std::int64_t memory_bytes = 0, disk_bytes = 0;  // disk: writable layer and logs
};
struct PodUse {
  std::string uid;
  const model::Pod* pod = nullptr;
  std::vector<ContainerUse> containers;
  std::map<std::string, std::int64_t> volumes;  // emptyDirs on disk and in memory, bytes by name
  std::int64_t file_bytes = 0;  // /etc/hosts and the like, which all containers may write
  std::int64_t processes = 0;

  std::int64_t memory_bytes() const;
  std::int64_t disk_bytes() const;  // with the emptyDirs on disk and the pod's files
};

// Pods in the order of eviction: those above their requests, the less important, the greedier. Pods
// that the system cannot do without are left out.
std::vector<const PodUse*> rank_for_eviction(const std::string& signal,
                                             const std::vector<PodUse>& pods);

std::string eviction_message(const PressureTracker::Met& met, const PodUse& victim);
// Why a pod has to go for its own limits, if it has to.
std::optional<std::string> exceeded_storage(const PodUse& pod);

bool is_critical(const model::Pod& pod);
// Whether storage limits of the pod call for measuring it.
bool has_storage_limits(const model::Pod& pod);

// Why a new pod is turned away under this pressure, in the kubelet's words; nothing when it is not.
std::optional<std::string> refusal_under(const NodePressure& pressure, const model::Pod& pod);

}  // namespace hekla::agent
