// allocate: gives nodes to pending tasks that request resources. A job's turn ends as soon as the
// job is ready; it is committed and comes back for one more pod per turn, so that queues and jobs
// share what is left in their order. A job that cannot become ready is taken back; one that will be
// ready once resources are released keeps its claim for this session without being bound. Jobs that
// want to be close together, and those made of sub-groups, are placed by domain.
#include <algorithm>
#include <vector>

#include "scheduler/session/action.h"
#include "scheduler/session/domain_placement.h"
#include "scheduler/session/task_placement.h"
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
        domains_(session, statement_),
        pending_(session.cluster().jobs().size()) {}

  void run() {
    for (JobId job : session_.jobs())
      if (is_candidate(job)) turns_.add(job);
    while (!turns_.empty()) {
      QueueId queue = turns_.next_queue();
      if (session_.overused(queue)) {
        place_plain_pods(queue);
        continue;
      }
      if (!turns_.has_jobs(queue)) continue;
      take_turn(turns_.next_job(queue));
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
    return job.allocatable_tasks > 0 && !session_.rests(id) && session_.job_valid(id);
  }

  // They only stand in line with the queue's jobs.
  void place_plain_pods(QueueId queue) {
    while (turns_.has_jobs(queue))
      if (JobId job = turns_.next_job(queue); !session_.is_in_queue(job)) take_turn(job);
  }

  void take_turn(JobId job) {
    if (!session_.may_place(job)) return;
    session_.begin_turn(job);
    if (DomainPlacement::handles(session_, job))
      place_in_domain(job);
    else
      place_anywhere(job);
    session_.end_turn(job);
  }

  void place_anywhere(JobId job) {
    Pending& pending = pending_[job.index()];
    if (!pending.collected) collect(job, pending);
    std::span<const TaskId> order(order_.data(), pending.end);
    place_tasks(session_, statement_, {job, -1}, order, pending.next);
    if (session_.job_ready(job)) {
      statement_.commit();
      if (pending.next < pending.end) turns_.again(job);
    } else if (session_.job_pipelined(job)) {
      statement_.leave();
    } else {
      statement_.discard();
    }
  }

  void place_in_domain(JobId job) {
    if (std::string obstacle = DomainPlacement::obstacle(session_, job); !obstacle.empty())
      return session_.set_job_error(job, JobObstacle::network, std::move(obstacle));
    std::optional<HyperNodeId> domain = domains_.place(job);
    if (!domain) return;
    if (!session_.job_ready(job)) return statement_.leave();
    statement_.commit();
    session_.settle_in(job, *domain);
    if (domains_.has_more(job)) turns_.again(job);
  }

  void collect(JobId job, Pending& pending) {
    auto begin = static_cast<std::uint32_t>(order_.size());
    collect_pending(session_, {job, -1}, order_);
    pending = {begin, static_cast<std::uint32_t>(order_.size()), true};
  }

  Session& session_;
  Turns turns_;
  Statement statement_;
  DomainPlacement domains_;
  std::vector<Pending> pending_;  // by job
  std::vector<TaskId> order_;
};

void execute_allocate(Session& session, const Arguments&) { Allocate(session).run(); }

}  // namespace

extern const ActionInfo action_allocate;
const ActionInfo action_allocate{"allocate", "places gangs on nodes, whole or not at all",
                                 execute_allocate, "predicateErrorCacheEnable"};

}  // namespace hekla::scheduler
