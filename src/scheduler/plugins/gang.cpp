// gang: all of a job's minimum or nothing. Says when a job has enough pods to be tried (valid),
// enough placed to be bound (ready), enough placed or waiting for releases to keep its claim
// (pipelined). Jobs that are not ready go before those that are. Victims are offered only while
// their own job stays above its minimum. At the end of a session it leaves the conditions
// Unschedulable or Scheduled on every pod group.
//
// Differs from Volcano since 1.12: a group without pods gets the condition of earlier releases,
// "1/0 tasks in gang unschedulable: ...", because tutorials and tools show it. No arguments.
#include <boost/unordered/unordered_flat_map.hpp>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

class Gang final : public Plugin {
 public:
  Hooks hooks() const override {
    return hooks_of({Hook::job_valid, Hook::job_order, Hook::job_ready, Hook::job_pipelined,
                     Hook::job_starving, Hook::preemptable, Hook::reclaimable,
                     Hook::unified_evictable, Hook::sub_job_ready, Hook::sub_job_pipelined,
                     Hook::sub_job_order});
  }
  void open(Session& session) override { session_ = &session; }

  bool job_valid(JobId id) override {
    const Job& job = session_->at(id);
    return job.roles_valid() && job.sub_jobs_valid() && job.valid() >= job.min_available;
  }
  int job_order(JobId a, JobId b) const override {
    bool x = session_->at(a).is_ready(), y = session_->at(b).is_ready();
    return x == y ? 0 : x ? 1 : -1;
  }
  bool job_ready(JobId id) override {
    const Job& job = session_->at(id);
    return job.is_ready() && job.roles_ready() && job.sub_jobs_ready();
  }
  Vote job_pipelined(JobId id) override {
    const Job& job = session_->at(id);
    bool enough = job.is_pipelined() && job.roles_pipelined() && job.sub_jobs_pipelined();
    return enough ? Vote::permit : Vote::reject;
  }
  bool sub_job_ready(JobPart part) override { return sub_job(part).is_ready(); }
  Vote sub_job_pipelined(JobPart part) override {
    return sub_job(part).is_pipelined() ? Vote::permit : Vote::reject;
  }
  int sub_job_order(JobPart a, JobPart b) const override {
    bool x = sub_job(a).is_ready(), y = sub_job(b).is_ready();
    return x == y ? 0 : x ? 1 : -1;
  }
  bool job_starving(JobId id) override { return session_->at(id).is_starving(); }

  Victims preemptable(TaskId, std::span<const TaskId> candidates) override {
    Victims victims;
    boost::unordered_flat_map<std::uint32_t, std::int32_t> left;
    for (TaskId id : candidates) {
      JobId owner = session_->at(id).job;
      const Job& job = session_->at(owner);
      std::int32_t& ready = left.emplace(owner.value, job.ready()).first->second;
      if (ready <= job.min_available) continue;
      --ready;
      victims.tasks.push_back(id);
    }
    return victims;
  }
  Victims reclaimable(TaskId reclaimer, std::span<const TaskId> candidates) override {
    return preemptable(reclaimer, candidates);
  }

  // Gang evictions take whole gangs or what they can spare: nothing is left to object to.
  Victims unified_evictable(const Eviction&, std::span<const TaskId> candidates) override {
    return {false, {candidates.begin(), candidates.end()}};
  }

  void close(Session& session) override {
    for (JobId id : session.jobs()) {
      const Job& job = session.at(id);
      if (job.implicit || session.rests(id) || session.is_arriving(id)) continue;
      if (job.is_ready()) {
        if (!job.tasks.empty())
          session.set_condition(id, "Scheduled", "tasks in gang are ready to be scheduled", "");
        continue;
      }
      // What is missing is merely on its way out.
      if (job.of(TaskStatus::releasing) > 0 &&
          job.ready() + job.pending_best_effort + job.of(TaskStatus::releasing) >=
              job.min_available)
        continue;
      std::int32_t unready = job.min_available - job.ready() - session.schedulable_tasks(id);
      session.set_condition(id, "Unschedulable", "NotEnoughResources",
                            std::to_string(unready) + "/" + std::to_string(job.tasks.size()) +
                                " tasks in gang unschedulable: " + session.fit_error(id));
    }
  }

 private:
  const SubJob& sub_job(JobPart part) const {
    return session_->at(part.job).sub_jobs[static_cast<std::size_t>(part.sub_job)];
  }

  const Session* session_ = nullptr;
};

}  // namespace

extern const PluginInfo plugin_gang;
const PluginInfo plugin_gang{
    "gang", "all of a job's minimum or nothing", "",
    [](const PluginOption&) -> std::unique_ptr<Plugin> { return std::make_unique<Gang>(); }};

}  // namespace hekla::scheduler
