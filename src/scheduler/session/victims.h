// What preempt and reclaim have in common: who on a node may go, and whether that would be enough.
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "scheduler/session/session.h"
#include "scheduler/session/turns.h"

namespace hekla::scheduler {

// Victims in the order in which they are taken: the least deserving first.
class VictimHeap {
 public:
  VictimHeap(const Session& session, std::span<const TaskId> victims, TaskId preemptor)
      : heap_(Before{&session, preemptor}) {
    for (TaskId victim : victims) heap_.push(victim);
  }
  bool empty() const { return heap_.empty(); }
  TaskId pop() { return heap_.pop(); }

 private:
  struct Before {
    const Session* session;
    TaskId preemptor;
    bool operator()(TaskId a, TaskId b) const { return session->victim_before(a, b, preemptor); }
  };
  Heap<TaskId, Before> heap_;
};

// The tasks on the node that `may_go` lets pass, the least deserving first: plugins that offer only
// so many of a job's tasks then offer the right ones.
template <class Filter>
std::vector<TaskId> tasks_on(const Session& session, NodeId node, TaskId preemptor, Filter may_go) {
  std::vector<TaskId> passing;
  for (TaskId task : session.cluster().at(node).tasks)
    if (may_go(task)) passing.push_back(task);
  std::vector<TaskId> out;
  VictimHeap heap(session, passing, preemptor);
  while (!heap.empty()) out.push_back(heap.pop());
  return out;
}

// What the node will have to give, compared with what the task asks for.
inline bool fits_future(const Session& session, TaskId task, NodeId node) {
  const Resources& request = session.cluster().class_of(session.at(task)).request;
  const Node& there = session.cluster().at(node);
  for (std::uint32_t mask = request.present; mask != 0; mask &= mask - 1) {
    auto d = static_cast<Dim>(std::countr_zero(mask));
    if (request[d] > there.idle[d] + there.releasing[d] - there.pipelined[d] - there.reserved[d])
      return false;
  }
  return true;
}

// Whether the task would fit if all of these left the node.
inline bool would_fit(const Session& session, TaskId task, NodeId node,
                      std::span<const TaskId> victims) {
  Resources future = session.cluster().at(node).future_idle();
  for (TaskId victim : victims) future += session.cluster().class_of(session.at(victim)).request;
  const Resources& request = session.cluster().class_of(session.at(task)).request;
  return less_equal(request, future, Missing::zero);
}

// Pending tasks that may be placed, in order.
inline std::vector<TaskId> waiting_tasks(const Session& session, JobId job) {
  std::vector<TaskId> out;
  for (TaskId id : session.at(job).tasks) {
    const Task& task = session.at(id);
    if (task.status == TaskStatus::pending && !task.gated && task.ours) out.push_back(id);
  }
  std::sort(out.begin(), out.end(), [&](TaskId a, TaskId b) { return session.task_before(a, b); });
  return out;
}

// Jobs that may ask others to leave: let in, valid, and short of their minimum.
inline bool is_starving(const Session& session, JobId job) {
  return session.is_in_queue(job) && !session.at(job).is_pending() && !session.rests(job) &&
         session.job_valid(job) && session.job_starving(job);
}

}  // namespace hekla::scheduler
