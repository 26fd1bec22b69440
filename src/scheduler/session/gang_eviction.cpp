#include "scheduler/session/gang_eviction.h"

#include <algorithm>

namespace hekla::scheduler {

void GangEviction::run() {
  Turns turns(session_);
  for (JobId job : session_.jobs())
    if (is_starving(session_, job)) turns.add(job);
  while (!turns.empty()) {
    QueueId queue = turns.next_queue();
    if (kind_ == Eviction::Kind::reclaim && session_.overused(queue)) continue;
    while (turns.has_jobs(queue)) serve(turns.next_job(queue));
  }
}

bool GangEviction::may_go(TaskId id, JobId job) const {
  const Task& task = session_.at(id);
  bool up = task.status == TaskStatus::running ||
            (kind_ == Eviction::Kind::preempt && task.status == TaskStatus::bound);
  if (!up || !task.preemptable || task.job == job || !session_.takes_part(task.job)) return false;
  const Job &owner = session_.at(task.job), &wants = session_.at(job);
  if (kind_ == Eviction::Kind::preempt)
    return owner.queue == wants.queue && owner.priority < wants.priority;
  return owner.queue != wants.queue && session_.at(owner.queue).reclaimable;
}

std::vector<GangEviction::Bundle> GangEviction::bundles_for(JobId job, TaskId preemptor) const {
  std::vector<TaskId> candidates;
  for (JobId other : session_.jobs())
    for (TaskId task : session_.at(other).tasks)
      if (may_go(task, job)) candidates.push_back(task);
  std::sort(candidates.begin(), candidates.end(),
            [&](TaskId a, TaskId b) { return session_.victim_before(a, b, preemptor); });
  std::vector<TaskId> permitted = session_.unified_evictable({kind_, job}, candidates);
  std::vector<Bundle> safe, whole;
  std::vector<JobId> seen;
  for (TaskId first : permitted) {
    JobId owner = session_.at(first).job;
    if (std::find(seen.begin(), seen.end(), owner) != seen.end()) continue;
    seen.push_back(owner);
    Bundle all;
    for (TaskId task : permitted)
      if (session_.at(task).job == owner) all.push_back(task);
    const Job& victim = session_.at(owner);
    std::int32_t spare =
        std::clamp(victim.ready() - victim.min_available, 0, static_cast<std::int32_t>(all.size()));
    auto end_of_spare = all.begin() + spare;
    for (auto task = all.begin(); task != end_of_spare; ++task) safe.push_back({*task});
    bool complete = static_cast<std::int32_t>(all.size()) == victim.allocated_tasks();
    if (whole_jobs_ && complete && end_of_spare != all.end())
      whole.emplace_back(end_of_spare, all.end());
  }
  safe.insert(safe.end(), whole.begin(), whole.end());
  return safe;
}

bool GangEviction::place(JobId job) {
  std::size_t before = statement_.size();
  QueueId queue = session_.at(job).queue;
  for (TaskId task : waiting_tasks(session_, job)) {
    if (!session_.job_starving(job)) break;
    if (!session_.at(task).preempts) continue;
    bool within = kind_ == Eviction::Kind::preempt ? session_.allocatable(queue, task)
                                                   : session_.preemptive(queue, task);
    if (!within) continue;
    if (std::optional<ClassTable::Pick> pick = session_.choose_node(task))
      statement_.pipeline(task, pick->node, before > 0);
  }
  if (statement_.size() > before && session_.job_pipelined(job)) return true;
  statement_.discard(before);
  return false;
}

// The most deserving first: a bundle stays if no node would then promise more than it will have.
void GangEviction::let_stay(std::vector<Bundle>& taken) {
  for (auto bundle = taken.rbegin(); bundle != taken.rend(); ++bundle) {
    for (TaskId task : *bundle) statement_.withdraw(task);
    bool fits = std::all_of(bundle->begin(), bundle->end(), [&](TaskId task) {
      const Resources idle = session_.cluster().at(session_.at(task).node).future_idle();
      return std::none_of(idle.value.begin(), idle.value.end(),
                          [](std::int64_t amount) { return amount < 0; });
    });
    if (!fits)
      for (TaskId task : *bundle) statement_.evict(task, reason_);
  }
}

void GangEviction::serve(JobId job) {
  std::vector<TaskId> waiting = waiting_tasks(session_, job);
  if (waiting.empty()) return;
  if (place(job)) return statement_.commit();
  std::vector<Bundle> taken;
  for (const Bundle& bundle : bundles_for(job, waiting.front())) {
    for (TaskId task : bundle) statement_.evict(task, reason_);
    taken.push_back(bundle);
    if (!place(job)) continue;
    let_stay(taken);
    return statement_.commit();
  }
  statement_.discard();
}

}  // namespace hekla::scheduler
