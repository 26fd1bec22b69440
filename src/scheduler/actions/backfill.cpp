// backfill: places pods that request nothing (BestEffort) wherever the filters allow. A pod is
// bound at once if its job is ready, otherwise it is only held for the session. Queue capacity is
// not asked.
#include <algorithm>
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

void execute_backfill(Session& session, const Arguments&) {
  Turns turns(session);
  for (JobId id : session.jobs()) {
    const Job& job = session.at(id);
    if (job.pending_best_effort > 0 && !job.is_pending() && !session.rests(id) &&
        session.job_valid(id))
      turns.add(id);
  }
  while (!turns.empty()) {
    QueueId queue = turns.next_queue();
    if (!turns.has_jobs(queue)) continue;
    JobId job = turns.next_job(queue);
    if (!session.may_place(job)) {
      turns.again(queue);
      continue;
    }
    for (TaskId task : best_effort_tasks(session, job)) {
      if (std::optional<ClassTable::Pick> pick = session.choose_node(task))
        session.allocate_now(task, pick->node);
      else
        session.set_fit_error(task, session.explain_no_node(task));
    }
    turns.again(queue);
  }
}

}  // namespace

extern const ActionInfo action_backfill;
const ActionInfo action_backfill{"backfill", "places pods that request nothing", execute_backfill};

}  // namespace hekla::scheduler
