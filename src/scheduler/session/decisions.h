// What a session decided. The library's whole output: whoever runs it carries these out.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "scheduler/cluster/ids.h"

namespace hekla::scheduler {

struct BindDecision {
  TaskId task;
  NodeId node;
};

// What a binding brings along: annotations for the pod, and claims that wait for their first pod.
// Claims are written first; the pod is bound when they are.
struct BindPreparation {
  struct ClaimDecision {
    std::string ns, name, uid;
    std::string volume;  // to be kept for the claim; empty: one is to be made
  };
  // A ResourceClaim the pod reserves, with the devices it gets if it has none yet.
  struct DeviceDecision {
    std::string ns, name;
    json::Value allocation;    // null: as it is
    json::Value reserved_for;  // the pod, in a list; empty: it stands there
  };
  TaskId task;
  std::vector<std::pair<std::string, std::string>> annotations;
  std::vector<ClaimDecision> claims;
  std::vector<DeviceDecision> devices;
  bool empty() const { return annotations.empty() && claims.empty() && devices.empty(); }
};

struct EvictDecision {
  TaskId task;
  std::string reason;
};

// Phase, counters and conditions stand in the job itself.
struct GroupDecision {
  JobId job;
};

// PodScheduled=False with these; on change only.
struct PodConditionDecision {
  TaskId task;
  std::string reason, message;
  NodeId nominated;  // valid when evictions were made for this pod
};

struct EventDecision {
  JobId job;  // the event is on the group if the task is invalid
  TaskId task;
  bool warning = false;
  std::string reason, message;
};

// allocated and counts stand in the queue itself.
struct QueueDecision {
  QueueId queue;
};

// A figure about a queue, for metrics.
struct GaugeDecision {
  std::string_view name;  // a literal
  QueueId queue;
  std::int16_t resource = -1;  // the dimension, of scalar resources
  double value = 0;
  bool is_about_the_same(const GaugeDecision& other) const {
    return name.data() == other.name.data() && queue == other.queue && resource == other.resource;
  }
};

struct SessionTimes {
  Nanos open{}, total{};
  std::vector<std::pair<std::string_view, Nanos>> actions;
  std::vector<std::pair<std::string_view, Nanos>> plugin_open, plugin_close;
};

struct Decisions {
  std::vector<BindDecision> binds;
  std::vector<BindPreparation> preparations;  // of some of the binds, in their order
  std::vector<EvictDecision> evictions;
  // Tasks that wait for what is being released, and where. For people and tests: nothing is done
  // about them, the next session looks anew.
  std::vector<BindDecision> pipelined;
  std::vector<GroupDecision> groups;
  std::vector<PodConditionDecision> pods;
  std::vector<EventDecision> events;
  std::vector<QueueDecision> queues;
  std::vector<GaugeDecision> gauges;  // only when asked for
  SessionTimes times;
  // Something waits for what only time or a plugin's clock can bring: look again after the period.
  bool waiting = false;
  std::size_t unschedulable_jobs = 0;
  std::size_t preemption_attempts =
      0;  // nodes on which pods were asked to leave for somebody of their queue

  void clear();
};

}  // namespace hekla::scheduler
