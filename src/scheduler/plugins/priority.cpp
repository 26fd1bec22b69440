// priority: higher priority first, for tasks within a job (pod priority, or
// volcano.sh/task-priority) and for jobs (their PriorityClass). A victim must have a lower priority
// than whoever wants its place: the job's between jobs, the task's within one. A job starves while
// some of its tasks wait.
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

class Priority final : public Plugin {
 public:
  Hooks hooks() const override {
    return hooks_of({Hook::task_order, Hook::job_order, Hook::preemptable, Hook::job_starving,
                     Hook::unified_evictable, Hook::sub_job_order});
  }
  void open(Session& session) override { session_ = &session; }

  int task_order(TaskId a, TaskId b) const override {
    return compare(session_->at(a).priority, session_->at(b).priority);
  }
  int job_order(JobId a, JobId b) const override {
    return compare(session_->at(a).priority, session_->at(b).priority);
  }
  int sub_job_order(JobPart a, JobPart b) const override {
    auto priority = [&](JobPart part) {
      return session_->at(part.job).sub_jobs[static_cast<std::size_t>(part.sub_job)].priority;
    };
    return compare(priority(a), priority(b));
  }
  Victims preemptable(TaskId preemptor, std::span<const TaskId> candidates) override {
    Victims victims;
    const Task& wants = session_->at(preemptor);
    for (TaskId id : candidates) {
      const Task& candidate = session_->at(id);
      bool lower = candidate.job == wants.job
                       ? candidate.priority < wants.priority
                       : session_->at(candidate.job).priority < session_->at(wants.job).priority;
      if (lower) victims.tasks.push_back(id);
    }
    return victims;
  }
  Victims unified_evictable(const Eviction& eviction, std::span<const TaskId> candidates) override {
    Victims victims;
    for (TaskId id : candidates)
      if (eviction.kind == Eviction::Kind::reclaim ||
          session_->at(session_->at(id).job).priority < session_->at(eviction.job).priority)
        victims.tasks.push_back(id);
    return victims;
  }
  bool job_starving(JobId id) override {
    const Job& job = session_->at(id);
    return job.ready() + job.of(TaskStatus::pipelined) <
           static_cast<std::int32_t>(job.tasks.size());
  }

 private:
  static int compare(std::int32_t a, std::int32_t b) { return a == b ? 0 : a > b ? -1 : 1; }
  const Session* session_ = nullptr;
};

}  // namespace

extern const PluginInfo plugin_priority;
const PluginInfo plugin_priority{
    "priority", "higher priority first", "",
    [](const PluginOption&) -> std::unique_ptr<Plugin> { return std::make_unique<Priority>(); }};

}  // namespace hekla::scheduler
