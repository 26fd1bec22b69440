// backfill: places pods that request nothing (BestEffort) wherever the filters allow. A pod is
// bound at once if its job is ready, otherwise it is only held for the session. Queue capacity is
// not asked. Queues and jobs keep the order they had at the beginning: what they are given here
// does not make others come first.
//
// preempt and reclaim, where they stand before it, let starving jobs' BestEffort pods wait for room
// they do not need: those are taken from where they wait and tried like the others. Differs from
// Volcano: one that finds no place goes on waiting there, for pods may have been evicted for it.
#include <algorithm>
#include <utility>
#include <vector>

#include "scheduler/session/action.h"
#include "scheduler/session/turns.h"

namespace hekla::scheduler {

namespace {

std::vector<TaskId> best_effort_tasks(const Session& session, JobId job) {
  std::vector<TaskId> tasks;
  for (TaskId id : session.at(job).tasks) {
    const Task& task = session.at(id);
    if (task.status == TaskStatus::pending && task.best_effort && !task.gated && task.ours)
      tasks.push_back(id);
  }
  std::sort(tasks.begin(), tasks.end(),
            [&](TaskId a, TaskId b) { return session.task_before(a, b); });
  return tasks;
}

using Waiting = std::vector<std::pair<TaskId, NodeId>>;

Waiting take_from_waiting(Session& session) {
  Waiting waiting;
  for (JobId id : session.jobs()) {
    if (session.at(id).of(TaskStatus::pipelined) == 0) continue;
    for (TaskId task : session.at(id).tasks)
      if (session.at(task).status == TaskStatus::pipelined && session.at(task).best_effort)
        waiting.emplace_back(task, session.at(task).node);
  }
  for (auto [task, node] : waiting) session.unplace(task);
  return waiting;
}

void let_wait_again(Session& session, const Waiting& waiting) {
  for (auto [task, node] : waiting)
    if (session.at(task).status == TaskStatus::pending &&
        session.place(task, TaskStatus::pipelined, node))
      session.keep(task);
}

void execute_backfill(Session& session, const Arguments&) {
  Waiting waiting = take_from_waiting(session);
  Turns turns(session);
  for (JobId id : session.jobs()) {
    const Job& job = session.at(id);
    if (job.pending_best_effort > 0 && !job.is_pending() && !session.rests(id) &&
        session.job_valid(id))
      turns.add(id);
  }
  std::vector<JobId> jobs;
  while (!turns.empty())
    for (QueueId queue = turns.next_queue(); turns.has_jobs(queue);)
      jobs.push_back(turns.next_job(queue));
  for (JobId job : jobs) {
    if (!session.may_place(job)) continue;
    for (TaskId task : best_effort_tasks(session, job)) {
      if (std::optional<ClassTable::Pick> pick = session.choose_node(task))
        session.allocate_now(task, pick->node);
      else
        session.set_fit_error(task, session.explain_no_node(task));
    }
  }
  let_wait_again(session, waiting);
}

}  // namespace

extern const ActionInfo action_backfill;
const ActionInfo action_backfill{"backfill", "places pods that request nothing", execute_backfill};

}  // namespace hekla::scheduler
