// A job is a PodGroup with its pods (or one plain pod standing for itself), with counts kept
// current.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/quantity.h"
#include "model/selector.h"
#include "scheduler/cluster/ids.h"
#include "scheduler/cluster/resources.h"
#include "scheduler/cluster/task.h"

namespace hekla::scheduler {

enum class Phase : std::uint8_t { none, pending, running, unknown, inqueue, completed };

constexpr std::string_view name_of(Phase phase) {
  constexpr std::array<std::string_view, 6> names{"",        "Pending", "Running",
                                                  "Unknown", "Inqueue", "Completed"};
  return names[static_cast<std::size_t>(phase)];
}

struct GroupCondition {
  std::string type, status, reason, message;
  std::string transition_id;
  WallTime at{};
};

using StatusCounts = std::array<std::int32_t, kTaskStatuses>;

struct Role {
  NameId name;
  std::int32_t min = 0;
  StatusCounts count{};
  std::int32_t pending_best_effort = 0;
};

// spec.networkTopology, of a group or of its sub-groups.
struct TopologyWish {
  bool given = false;
  bool hard = false;
  std::int32_t tier = -1;  // the highest allowed; -1: none named
  std::string tier_name;
  bool operator==(const TopologyWish&) const = default;
};

// spec.subGroupPolicy: pods that match, by the values of some of their labels, are sub-groups.
struct SubGroupRule {
  std::string name;
  TopologyWish topology;
  std::int32_t size = 1;  // a sub-group is ready with so many pods
  std::int32_t min = 0;   // so many sub-groups must be ready
  bool has_selector = false;
  model::Selector selector;
  std::vector<std::string> keys;
  std::string text;  // equal texts are equal rules
};

struct SubJob {
  std::string id;  // "<rule>-<values>"; empty: the rest
  std::int32_t rule = -1;
  std::int32_t min = 1;
  std::int32_t match_index = 0;  // the first value, if it is a number
  StatusCounts count{};
  std::int32_t pending_best_effort = 0;
  std::int32_t tasks = 0;
  std::int32_t priority = 0;  // the highest of its tasks'

  std::int32_t of(TaskStatus s) const { return count[static_cast<std::size_t>(s)]; }
  std::int32_t ready() const {
    return of(TaskStatus::bound) + of(TaskStatus::binding) + of(TaskStatus::running) +
           of(TaskStatus::allocated) + of(TaskStatus::succeeded) + pending_best_effort;
  }
  bool is_ready() const { return ready() >= min; }
  bool is_pipelined() const { return ready() + of(TaskStatus::pipelined) >= min; }
};

// Room a member left behind when it died.
struct LostRoom {
  NodeId node;
  Resources amount;
  WallTime until{};  // set by the first session that sees it
};

struct Job {
  std::string ns, name, uid;
  bool live = false;
  bool has_group = false;  // the PodGroup object exists
  bool implicit = false;   // one plain pod without a PodGroup
  QueueId queue;
  std::int32_t min_available = 0;
  std::int32_t role_min_total = 0;
  std::string priority_class;
  std::int32_t priority = 0;
  WallTime created{};
  bool has_min_resources = false;
  Resources min_resources;
  model::ResourceList min_list;     // the same with the names that only quotas know
  model::ResourceList min_unknown;  // of them, those that no node offers
  bool preemptable = false;
  // Terms beyond Volcano's (start_terms.h).
  Nanos reserve_after{-1};  // negative: as the queue says
  Nanos estimate{0};        // 0: not known
  Nanos hold{0};
  std::int32_t elastic_members = 0;  // so many would it have; 0: it is not elastic
  std::int32_t granted = 0;          // so many may it have for now; 0: as many as it wants
  std::vector<LostRoom> lost;
  WallTime inqueue_since{};  // as far as this scheduler has seen it
  WallTime started{};        // when the gang was complete
  WallTime short_since{};    // since when the gang, once complete, is no longer
  WallTime half_since{};     // since when it holds some of its minimum and cannot have the rest
  std::vector<std::pair<std::string, std::string>> annotations;  // those that plugins read
  TopologyWish topology;
  std::vector<SubGroupRule> sub_group_rules;
  std::string hyper_node;  // where it sits, as the group's annotation says

  // status, as far as this scheduler writes it
  Phase phase = Phase::none;
  std::vector<GroupCondition> conditions;
  std::int32_t running = 0, succeeded = 0, failed = 0;
  std::int32_t status_writes = 0;  // on their way: until then the watch knows less than we do
  bool status_unwritten = false;   // the last write failed: what stands here must be written again
  std::uint64_t event_digest = 0;  // of the last event on the group
  std::uint64_t rejection_digest = 0;  // of the last enqueue rejection

  std::vector<TaskId> tasks;
  bool arriving = false;         // a pod has come since the last session
  std::vector<Role> roles;       // role 0 always exists; others as pods or minTaskMember name them
  std::vector<SubJob> sub_jobs;  // empty without rules; 0 is the rest
  StatusCounts count{};
  std::int32_t pending_best_effort = 0;
  std::int32_t releasing_on_node = 0;
  std::int32_t allocatable_tasks = 0;  // pending, not BestEffort, not gated
  Resources allocated;                 // allocated-like tasks
  Resources claimed;                   // those and the pipelined ones
  Resources pending_request;
  Resources gated_request;

  std::uint64_t changed = 0;  // the cluster's version when its objects last did
  // It was tried and did not fit: when, by the cluster's version and by the clock. 0: not so.
  std::uint64_t resting_since = 0;
  WallTime tried_at{};

  // Empty when absent.
  std::string_view annotation(std::string_view name) const {
    for (const auto& [key, value] : annotations)
      if (key == name) return value;
    return {};
  }
  std::int32_t of(TaskStatus s) const { return count[static_cast<std::size_t>(s)]; }
  std::int32_t ready() const {
    return of(TaskStatus::bound) + of(TaskStatus::binding) + of(TaskStatus::running) +
           of(TaskStatus::allocated) + of(TaskStatus::succeeded);
  }
  std::int32_t allocated_tasks() const {
    return of(TaskStatus::bound) + of(TaskStatus::binding) + of(TaskStatus::running) +
           of(TaskStatus::allocated);
  }
  std::int32_t valid() const {
    return ready() + of(TaskStatus::pipelined) + of(TaskStatus::pending);
  }
  bool is_ready() const { return ready() + pending_best_effort >= min_available; }
  bool is_pipelined() const {
    return ready() + pending_best_effort + of(TaskStatus::pipelined) >= min_available;
  }
  bool is_starving() const { return ready() + of(TaskStatus::pipelined) < min_available; }
  bool is_pending() const { return phase == Phase::pending || phase == Phase::none; }
  // Role minimums bind only while the job's own minimum covers their sum.
  bool checks_roles() const { return min_available >= role_min_total; }
  bool roles_valid() const;
  bool roles_ready() const;
  bool roles_pipelined() const;
  // Enough sub-groups of every rule.
  bool sub_jobs_valid() const;
  bool sub_jobs_ready() const;
  bool sub_jobs_pipelined() const;
  // Of a sub-job, or of the job itself (-1).
  const TopologyWish& topology_of(std::int32_t sub_job) const;
  // Whether it, or a part of it, cares how close its pods are.
  bool has_topology() const;
  bool has_hard_topology() const;
  // minResources - allocated, floored at zero, without what scheduling gates hold back: what the
  // job may still claim.
  Resources outstanding() const;

 private:
  template <class Counts>
  bool enough_sub_jobs(Counts counts) const;
};

}  // namespace hekla::scheduler
