// Which pods on a node would have to go so that another one fits, and how much their loss matters.
#pragma once

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

struct NodeVictims {
  NodeId node;
  std::vector<TaskId> victims;  // the most important first
};

// Takes victims as `next` (an invalid id at the end) names them until it is enough, then lets stay
// whom it can, the most important first. All of it is undone.
template <class Next, class Enough>
std::vector<TaskId> smallest_set(Session& session, Next next, Enough enough) {
  struct Taken {
    TaskId task;
    TaskStatus before;
    bool needed = false;
  };
  std::vector<Taken> taken;
  while (taken.empty() || !enough()) {
    TaskId task = next();
    if (!task.valid()) break;
    taken.push_back({task, session.at(task).status});
    session.release(task);
  }
  bool is_enough = enough();
  std::vector<TaskId> needed;
  for (auto one = taken.rbegin(); one != taken.rend(); ++one) {
    session.unrelease(one->task, one->before);
    if (!is_enough || enough()) continue;
    session.release(one->task);
    one->needed = true;
    needed.push_back(one->task);
  }
  for (const Taken& one : taken)
    if (one.needed) session.unrelease(one.task, one.before);
  return needed;
}

// Smaller is better: the highest priority among the victims, the sum of priorities, how many, and
// how long ago the oldest of the most important ones started.
inline auto cost_of(const Session& session, const NodeVictims& one) {
  std::int32_t highest = std::numeric_limits<std::int32_t>::min();
  std::int64_t sum = 0;
  for (TaskId id : one.victims) {
    highest = std::max(highest, session.at(id).priority);
    sum += std::int64_t{session.at(id).priority} + (std::int64_t{1} << 31);
  }
  WallTime earliest = WallTime::max();
  for (TaskId id : one.victims)
    if (session.at(id).priority == highest) earliest = std::min(earliest, session.at(id).started);
  return std::tuple(highest, sum, one.victims.size(), -earliest.time_since_epoch().count());
}

// Room is being made already while pods leave the node this one was promised.
inline bool is_eligible_to_preempt(const Session& session, const Task& task) {
  if (!task.preempts) return false;
  if (!task.nominated.valid() || !session.cluster().at(task.nominated).live) return true;
  const std::vector<TaskId>& there = session.cluster().at(task.nominated).tasks;
  return std::none_of(there.begin(), there.end(), [&](TaskId id) {
    const Task& other = session.at(id);
    return other.status == TaskStatus::releasing && other.priority < task.priority;
  });
}

}  // namespace hekla::scheduler
