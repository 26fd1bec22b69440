// allocate: gives nodes to pending tasks that request resources. A job's turn ends as soon as the
// job is ready; it is committed and comes back for one more pod per turn, so that queues and jobs
// share what is left in their order. A job that cannot become ready is taken back; one that will be
// ready once resources are released keeps its claim for this session without being bound.
#include <algorithm>
#include <vector>

#include "scheduler/session/action.h"
#include "scheduler/session/statement.h"
#include "scheduler/session/turns.h"

namespace hekla::scheduler {

namespace {

// A job's pending tasks in order: a range of one list for all jobs, filled at the job's first turn.
struct Pending {
  std::uint32_t next = 0, end = 0;
  bool collected = false;
};

class Allocate {
 public:
  explicit Allocate(Session& session)
      : session_(session),
        turns_(session),
        statement_(session),
        pending_(session.cluster().jobs().size()) {}

  void run() {
    for (JobId job : session_.jobs())
      if (is_candidate(job)) turns_.add(job);
    while (!turns_.empty()) {
      QueueId queue = turns_.next_queue();
      if (session_.overused(queue) || !turns_.has_jobs(queue)) continue;
      take_turn(queue, turns_.next_job(queue));
      turns_.again(queue);
    }
  }

 private:
  bool is_candidate(JobId id) {
    const Job& job = session_.at(id);
    if (job.is_pending()) {
      // Without the enqueue action nobody else lets a group in.
      if (session_.configuration().has_action("enqueue")) return false;
      session_.set_phase(id, Phase::inqueue);
    }
    return job.allocatable_tasks > 0 && session_.job_valid(id);
  }

  void take_turn(QueueId queue, JobId job) {
    if (!session_.may_place(job)) return;
    session_.begin_turn(job);
    Pending& pending = pending_[job.index()];
    if (!pending.collected) collect(job, pending);
    place_tasks(queue, job, pending);
    if (session_.job_ready(job)) {
      statement_.commit();
      if (pending.next < pending.end) turns_.again(job);
    } else if (session_.job_pipelined(job)) {
      statement_.leave();
    } else {
      statement_.discard();
    }
    session_.end_turn(job);
  }

  void collect(JobId job, Pending& pending) {
    auto begin = static_cast<std::ptrdiff_t>(order_.size());
    for (TaskId id : session_.at(job).tasks) {
      const Task& task = session_.at(id);
      if (task.status == TaskStatus::pending && !task.best_effort && !task.gated && task.ours)
        order_.push_back(id);
    }
    std::sort(order_.begin() + begin, order_.end(),
              [&](TaskId a, TaskId b) { return session_.task_before(a, b); });
    pending = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(order_.size()), true};
  }

  void place_tasks(QueueId queue, JobId job, Pending& pending) {
    while (pending.next < pending.end) {
      TaskId id = order_[pending.next++];
      const Task& task = session_.at(id);
      if (!session_.allocatable(queue, id)) {
        explain_plain_pod(id, task);
        continue;
      }
      if (has_failed_role(task)) {
        session_.set_fit_error(
            id, "Task " + task.name + " with role spec " +
                    session_.cluster().names().text(session_.at(job).roles[task.role].name) +
                    " has already predicated failed, skip");
        continue;
      }
      if (!place(id, task)) {
        if (session_.may_continue(job)) continue;
        break;
      }
      if (session_.job_ready(job)) break;
    }
  }

  // A queue's refusal leaves a gang with the text about the gang. A plain pod has no such text: if
  // no node could take it either, that is its reason.
  void explain_plain_pod(TaskId id, const Task& task) {
    if (!session_.at(task.job).implicit) return;
    if (!session_.choose_node(id)) session_.set_fit_error(id, session_.explain_no_node(id));
  }

  // Pods of a role that found no node are not tried again; pods without a role are.
  bool has_failed_role(const Task& task) const {
    const Role& role = session_.at(task.job).roles[task.role];
    return !session_.cluster().names().text(role.name).empty() &&
           session_.role_failed(task.job, task.role);
  }

  bool place(TaskId id, const Task& task) {
    std::optional<ClassTable::Pick> pick = session_.choose_node(id, task.nominated);
    if (!pick) {
      session_.set_fit_error(id, session_.explain_no_node(id));
      return false;
    }
    return pick->fit == Fit::idle ? statement_.allocate(id, pick->node)
                                  : statement_.pipeline(id, pick->node);
  }

  Session& session_;
  Turns turns_;
  Statement statement_;
  std::vector<Pending> pending_;  // by job
  std::vector<TaskId> order_;
};

void execute_allocate(Session& session, const Arguments&) { Allocate(session).run(); }

}  // namespace

extern const ActionInfo action_allocate;
const ActionInfo action_allocate{"allocate", "places gangs on nodes, whole or not at all",
                                 execute_allocate};

}  // namespace hekla::scheduler
