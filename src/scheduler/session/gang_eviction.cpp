#include "scheduler/session/gang_eviction.h"

#include <algorithm>
#include <unordered_map>

namespace hekla::scheduler {

void GangEviction::run() {
  Turns turns(session_);
  for (JobId job : session_.jobs())
    if (is_starving(session_, job) && session_.may_place(job)) turns.add(job);
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
  if (!up || !task.preemptable || task.job == job || !session_.is_in_queue(task.job)) return false;
  const Job &owner = session_.at(task.job), &wants = session_.at(job);
  if (kind_ == Eviction::Kind::preempt)
    return owner.queue == wants.queue && owner.priority < wants.priority;
  return owner.queue != wants.queue && session_.at(owner.queue).reclaimable;
}

std::vector<HyperNodeId> GangEviction::domains_for(JobId id) const {
  const Job& job = session_.at(id);
  const HyperNodes& all = session_.cluster().hyper_nodes();
  std::int32_t allowed = job.topology.hard ? all.allowed_tier(job.topology) : -1;
  if (!job.topology.given || !job.topology.hard || !all.any()) return {HyperNodeId()};
  std::vector<HyperNodeId> domains;
  if (!all.problem().empty()) return domains;
  HyperNodeId sits;
  for (TaskId task : job.tasks)
    if (is_allocated(session_.at(task).status))
      sits = all.common(sits, all.of(session_.at(task).node));
  for (std::size_t i = 0; i < all.all().size(); ++i)
    if (all.all()[i].tier <= allowed && (!sits.valid() || all.contains(HyperNodeId(i), sits)))
      domains.push_back(HyperNodeId(i));
  std::stable_sort(domains.begin(), domains.end(),
                   [&](HyperNodeId a, HyperNodeId b) { return all.at(a).tier < all.at(b).tier; });
  if (static_cast<std::int64_t>(domains.size()) > most_domains_)
    domains.resize(static_cast<std::size_t>(std::max<std::int64_t>(most_domains_, 0)));
  return domains;
}

std::vector<GangEviction::Bundle> GangEviction::bundles_for(JobId job, TaskId preemptor,
                                                            HyperNodeId domain) const {
  std::vector<bool> inside(session_.cluster().nodes().size(), !domain.valid());
  if (domain.valid())
    for (NodeId node : session_.cluster().hyper_nodes().at(domain).nodes)
      inside[node.index()] = true;
  std::vector<TaskId> candidates;
  for (JobId other : session_.jobs())
    for (TaskId task : session_.at(other).tasks)
      if (may_go(task, job)) candidates.push_back(task);
  std::sort(candidates.begin(), candidates.end(),
            [&](TaskId a, TaskId b) { return session_.victim_before(a, b, preemptor); });
  std::vector<TaskId> permitted = session_.unified_evictable({kind_, job}, candidates);
  std::vector<Bundle> safe, whole, by_owner;
  std::unordered_map<std::size_t, std::size_t> owners;  // job: place in by_owner
  for (TaskId task : permitted) {
    auto [place, fresh] = owners.try_emplace(session_.at(task).job.index(), by_owner.size());
    if (fresh) by_owner.emplace_back();
    by_owner[place->second].push_back(task);
  }
  for (Bundle& all : by_owner) {
    // Only those within the domain make room; but a gang that breaks goes everywhere.
    Bundle here;
    for (TaskId task : all)
      if (inside[session_.at(task).node.index()]) here.push_back(task);
    JobId owner = session_.at(all.front()).job;
    const Job& victim = session_.at(owner);
    auto spare = static_cast<std::size_t>(std::clamp(victim.ready() - victim.min_available, 0,
                                                     static_cast<std::int32_t>(here.size())));
    bool complete = static_cast<std::int32_t>(all.size()) == victim.allocated_tasks();
    bool breaks = whole_jobs_ && complete && spare < here.size();
    here.resize(spare);
    for (TaskId task : here) {
      safe.push_back({task});
      std::erase(all, task);
    }
    if (breaks) whole.push_back(std::move(all));
  }
  safe.insert(safe.end(), whole.begin(), whole.end());
  return safe;
}

bool GangEviction::place(JobId job, HyperNodeId domain) {
  std::size_t before = statement_.size();
  session_.enter_domain(domain);
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
  session_.enter_domain({});
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

void GangEviction::serve(JobId id) {
  const Job& job = session_.at(id);
  if (job.has_hard_topology() && !job.topology.hard) return;
  for (HyperNodeId domain : domains_for(id))
    if (serve_in(id, domain)) return;
}

bool GangEviction::serve_in(JobId job, HyperNodeId domain) {
  std::vector<TaskId> waiting = waiting_tasks(session_, job);
  if (waiting.empty()) return true;
  bool placed = place(job, domain);
  std::vector<Bundle> taken;
  if (!placed)
    for (const Bundle& bundle : bundles_for(job, waiting.front(), domain)) {
      for (TaskId task : bundle) statement_.evict(task, reason_);
      taken.push_back(bundle);
      placed = place(job, domain);
      if (!placed) continue;
      let_stay(taken);
      break;
    }
  if (placed)
    statement_.commit();
  else
    statement_.discard();
  return placed;
}

}  // namespace hekla::scheduler
