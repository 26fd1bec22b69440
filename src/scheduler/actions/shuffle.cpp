// shuffle: evicts the running pods that plugins want off their nodes, for no pod in particular.
#include <vector>

#include "scheduler/session/action.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

void execute_shuffle(Session& session, const Arguments&) {
  std::vector<TaskId> running;
  for (JobId job : session.jobs()) {
    if (!session.is_in_queue(job)) continue;
    for (TaskId task : session.at(job).tasks)
      if (session.at(task).status == TaskStatus::running) running.push_back(task);
  }
  for (TaskId victim : session.victim_tasks(running)) {
    session.release(victim);
    session.evict(victim, "shuffle");
  }
}

}  // namespace

extern const ActionInfo action_shuffle;
const ActionInfo action_shuffle{"shuffle", "evicts pods that should move elsewhere",
                                execute_shuffle};

}  // namespace hekla::scheduler
