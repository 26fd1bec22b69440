// enqueue: decides which pending pod groups may have their pods created. A group without
// minResources always may; otherwise the plugins vote. A refused group is passed over for this
// session and the next of its queue is tried: a large job at the head does not block the small ones
// behind it.
#include "scheduler/session/action.h"
#include "scheduler/session/turns.h"

namespace hekla::scheduler {

namespace {

void execute_enqueue(Session& session, const Arguments&) {
  Turns turns(session);
  for (JobId job : session.jobs())
    if (session.at(job).is_pending()) turns.add(job);
  while (!turns.empty()) {
    QueueId queue = turns.next_queue();
    if (!turns.has_jobs(queue)) continue;
    JobId job = turns.next_job(queue);
    if (session.may_enqueue(job) &&
        (!session.at(job).has_min_resources || session.job_enqueueable(job))) {
      session.job_enqueued(job);
      session.set_phase(job, Phase::inqueue);
    }
    turns.again(queue);
  }
}

}  // namespace

extern const ActionInfo action_enqueue;
const ActionInfo action_enqueue{"enqueue", "lets pending pod groups in while there is room",
                                execute_enqueue};

}  // namespace hekla::scheduler
