// reclaim: a starving job whose queue has less than it deserves gets room back from other queues
// that hold more than theirs, as long as those are reclaimable. Victims are running pods; the
// plugins say which, and they go least deserving first until the waiting pod will fit. A job's
// evictions are made only if it gets its minimum.
//
// Differs from Volcano: a pod that some node will have room for anyway waits for that node and
// nobody is evicted for it.
#include "scheduler/session/action.h"
#include "scheduler/session/statement.h"
#include "scheduler/session/victims.h"

namespace hekla::scheduler {

namespace {

class Reclaim {
 public:
  explicit Reclaim(Session& session) : session_(session), statement_(session) {}

  void run() {
    Turns turns(session_);
    for (JobId job : session_.jobs())
      // A domain cannot be cleared pod by pod: gangreclaim does that for jobs that want one.
      if (is_starving(session_, job) && !session_.at(job).has_hard_topology() &&
          session_.may_place(job))
        turns.add(job);
    while (!turns.empty()) {
      QueueId queue = turns.next_queue();
      if (session_.overused(queue)) continue;
      while (turns.has_jobs(queue)) take_turn(queue, turns.next_job(queue));
    }
  }

 private:
  void take_turn(QueueId queue, JobId job) {
    for (TaskId task : waiting_tasks(session_, job)) {
      if (!session_.job_starving(job)) break;
      if (session_.at(task).preempts && session_.preemptive(queue, task)) make_room(task);
    }
    if (session_.job_pipelined(job))
      statement_.commit();
    else
      statement_.discard();
  }

  bool may_go(TaskId id, QueueId queue) const {
    const Task& task = session_.at(id);
    if (task.status != TaskStatus::running || !task.preemptable) return false;
    if (!session_.is_in_queue(task.job)) return false;
    QueueId owner = session_.at(task.job).queue;
    return owner != queue && session_.at(owner).reclaimable;
  }

  void make_room(TaskId task) {
    for (NodeId node : session_.roomy_nodes(task))
      if (fits_future(session_, task, node) && session_.passes_filters(task, node) &&
          statement_.pipeline(task, node))
        return;
    QueueId queue = session_.at(session_.at(task).job).queue;
    session_.try_evictable_nodes(task, [&](NodeId node) {
      std::vector<TaskId> candidates =
          tasks_on(session_, node, task, [&](TaskId id) { return may_go(id, queue); });
      if (candidates.empty()) return false;
      std::vector<TaskId> victims = session_.reclaimable(task, candidates);
      return would_fit(session_, task, node, victims) && evict_until_it_fits(task, node, victims);
    });
  }

  bool evict_until_it_fits(TaskId task, NodeId node, const std::vector<TaskId>& victims) {
    auto enough = [&] {
      return fits_future(session_, task, node) && session_.passes_filters(task, node);
    };
    std::size_t before = statement_.size();
    VictimHeap heap(session_, victims, task);
    while (!heap.empty() && !enough()) statement_.evict(heap.pop(), "reclaim");
    if (enough() && statement_.pipeline(task, node, statement_.size() > before)) return true;
    statement_.discard(before);
    return false;
  }

  Session& session_;
  Statement statement_;
};

void execute_reclaim(Session& session, const Arguments&) { Reclaim(session).run(); }

}  // namespace

extern const ActionInfo action_reclaim;
const ActionInfo action_reclaim{"reclaim", "gets back what other queues hold beyond their due",
                                execute_reclaim};

}  // namespace hekla::scheduler
