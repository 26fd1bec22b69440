// A queue: the unit of fair sharing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "scheduler/cluster/ids.h"
#include "scheduler/cluster/resources.h"

namespace hekla::scheduler {

// The counts of PodGroups by phase that stand in a queue's status.
struct QueueCounts {
  std::int32_t pending = 0, running = 0, inqueue = 0, unknown = 0, completed = 0;
  bool operator==(const QueueCounts&) const = default;
};

// spec.affinity: names of node groups.
struct NodeGroupAffinity {
  std::vector<std::string> required, preferred, anti_required, anti_preferred;
  bool empty() const {
    return required.empty() && preferred.empty() && anti_required.empty() && anti_preferred.empty();
  }
  bool operator==(const NodeGroupAffinity&) const = default;
};

struct Queue {
  std::string name, uid;
  bool live = false;  // the Queue object exists; otherwise only jobs have named it
  bool open = true;   // status.state is Open or not yet set
  std::int32_t weight = 1;
  std::int32_t priority = 0;
  bool reclaimable = true;
  WallTime created{};
  std::string parent;
  std::string hierarchy, hierarchy_weights;  // annotations of hierarchical DRF
  NodeGroupAffinity node_groups;
  std::vector<std::pair<std::string, Resources>> node_group_limits;
  bool has_capability = false;
  Resources capability, deserved, guarantee;
  // Terms beyond Volcano's (start_terms.h).
  bool fifo = false;
  std::int32_t max_running = 0;  // jobs; 0: no limit
  Nanos reserve_after{0};        // 0: never

  std::uint64_t changed = 0;  // the cluster's version when its object last did

  // Written last, or read from the object at start.
  bool status_known = false;
  Resources written_allocated;           // present: what its status may name
  std::vector<std::string> stale_names;  // in its status, but of nothing that is known
  QueueCounts written_counts;
};

}  // namespace hekla::scheduler
