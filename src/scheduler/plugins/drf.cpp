// drf: dominant resource fairness among jobs. A job's share is the largest part it holds of any
// resource of the cluster; smaller shares go first. A victim may be taken if its job, without it,
// still holds at least the share the preemptor's job would then have. No arguments. The queue tree
// of hierarchical DRF (enableHierarchy) is not built: with that switch jobs are ordered as without
// it.
#include <algorithm>
#include <cmath>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr double kShareDelta = 1e-6;

class Drf final : public Plugin {
 public:
  Hooks hooks() const override {
    return hooks_of({Hook::job_order, Hook::preemptable, Hook::events});
  }
  void open(Session& session) override {
    session_ = &session;
    shares_.assign(session.cluster().jobs().size(), 0.0);
    for (JobId job : session.jobs()) update(job);
  }
  int job_order(JobId a, JobId b) const override {
    double x = shares_[a.index()], y = shares_[b.index()];
    return x == y ? 0 : x < y ? -1 : 1;
  }
  void on_allocate(TaskId task) override { update(session_->at(task).job); }
  void on_release(TaskId task) override { update(session_->at(task).job); }

  Victims preemptable(TaskId preemptor, std::span<const TaskId> candidates) override {
    Victims victims;
    const Cluster& cluster = session_->cluster();
    const Task& wants = session_->at(preemptor);
    Resources after = session_->at(wants.job).claimed;
    after += cluster.class_of(wants).request;
    double own = dominant_share(after, cluster.total());
    std::vector<std::pair<JobId, Resources>> left;
    for (TaskId id : candidates) {
      const Task& task = session_->at(id);
      auto found = std::find_if(left.begin(), left.end(),
                                [&](const auto& entry) { return entry.first == task.job; });
      if (found == left.end())
        found = left.insert(left.end(), {task.job, session_->at(task.job).claimed});
      found->second -= cluster.class_of(task).request;
      double theirs = dominant_share(found->second, cluster.total());
      if (own < theirs || std::fabs(own - theirs) <= kShareDelta) victims.tasks.push_back(id);
    }
    return victims;
  }

 private:
  void update(JobId job) {
    shares_[job.index()] = dominant_share(session_->at(job).claimed, session_->cluster().total());
  }
  const Session* session_ = nullptr;
  std::vector<double> shares_;
};

}  // namespace

extern const PluginInfo plugin_drf;
const PluginInfo plugin_drf{
    "drf", "dominant resource fairness among jobs", "",
    [](const PluginOption&) -> std::unique_ptr<Plugin> { return std::make_unique<Drf>(); }};

}  // namespace hekla::scheduler
