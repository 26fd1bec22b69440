// Who may start, beyond the plugins' votes: strict order in a fifo queue, a limit of running jobs,
// room kept for a group that has waited too long or has lost a member, and an end to gangs that
// hold half of what they need. Each rule holds only where a queue or a group asks for it
// (cluster/start_terms.h), except the last two.
//
// Part of Session: open() and close() frame each session; claims never outlive it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/cluster/cluster.h"

namespace hekla::scheduler {

class Session;

// How long jobs of the same kind ran: the same namespace, queue and name up to its number.
class RunHistory {
 public:
  void add(const std::string& kind, Nanos duration);
  // The longest of the last few; zero when there were none.
  Nanos expect(const std::string& kind) const;
  static std::string kind_of(const Job& job, const Queue& queue);

 private:
  std::map<std::string, std::deque<Nanos>> durations_;
};

class StartRules {
 public:
  explicit StartRules(Cluster& cluster) : cluster_(cluster) {}

  void open(Session& session);
  void close();

  // The order of a fifo queue: priority, then age.
  bool goes_first(JobId a, JobId b) const;
  bool may_enqueue(JobId job);
  // Let in whatever the plugins say: the group that has waited too long (or nobody would ever keep
  // room for it), and who will have ended before that room is needed.
  bool must_enqueue(JobId job);
  void enqueued(JobId job);
  bool may_place(JobId job);
  // Room is kept for this group, or for one of this queue.
  bool keeps_room(JobId job) const;
  bool keeps_room(QueueId queue) const;
  void begin_turn(JobId job);
  void end_turn(JobId job);

 private:
  struct QueueState {
    std::vector<JobId> waiting;  // of a fifo queue, in order
    std::int32_t let_in = 0, started = 0;
  };
  struct Claim {
    JobId owner;
    NodeId node;
    Resources amount;
    bool hold = false;               // a dead member's room
    std::optional<WallTime> needed;  // of a reservation: who has ended by then may use the room
    bool lifted = false;
  };
  // A task's end as far as it can be known.
  struct End {
    WallTime at;
    NodeId node;
    Resources amount;
  };

  // Where a gang will go and when; nothing known of the latter if nobody knows how long the others
  // run.
  struct Plan {
    std::vector<std::pair<NodeId, Resources>> packing;
    std::optional<WallTime> needed;
    std::vector<Resources> released;  // by node: what will have come free by then
  };

  bool is_abandoned(const Job& job) const;
  JobId head(QueueId queue, bool pending_only) const;
  bool may_go_on(JobId id, JobId first, std::int32_t others);
  void follow_job(JobId id);
  void claim(Claim one);
  void hold_lost_rooms(JobId id);
  void reserve_for_longest_waiting();
  bool starves(JobId id) const;
  // False when room for it cannot be kept: the next one gets its chance.
  bool make_reservation(JobId id);
  Nanos patience(const Job& job) const;
  bool within_capability(const Job& job, const Resources& more);
  const Resources& held(QueueId queue);
  template <class Visit>
  void each_limit(QueueId queue, Visit visit) const;
  std::vector<TaskId> missing_tasks(JobId id) const;
  std::vector<End> expected_ends() const;
  std::optional<Plan> plan(const std::vector<TaskId>& tasks) const;
  Nanos estimate(JobId id) const;
  bool was_complete(const Job& job) const;
  void release_half_placed();

  Cluster& cluster_;
  Session* session_ = nullptr;
  std::vector<QueueState> queues_;
  std::vector<Claim> claims_;
  bool hierarchy_ = false;       // limits hold for a queue's ancestors too
  std::vector<Resources> held_;  // by queue, as the session found it; empty until somebody asks
  // Of all nodes, counted again when an account has changed.
  const Resources& idle();
  Resources idle_;
  std::uint64_t idle_at_ = ~std::uint64_t{0};
  bool reserving_ = false;  // somebody who is in has waited too long
  RunHistory history_;
};

}  // namespace hekla::scheduler
