// drf: dominant resource fairness among jobs. A job's share is the largest part it holds of any
// resource of the cluster; smaller shares go first. A victim may be taken if its job, without it,
// still holds at least the share the preemptor's job would then have. No arguments.
//
// With enableHierarchy queues too are ordered, by the tree of their hierarchy annotations, and may
// be reclaimed from while that leaves the reclaimer's queue the poorer one. Not together with
// proportion in one tier.
#include <algorithm>
#include <cmath>

#include "scheduler/plugins/hierarchy_tree.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr double kShareDelta = 1e-6;

class Drf final : public Plugin {
 public:
  explicit Drf(bool hierarchy) : hierarchy_(hierarchy) {}
  Hooks hooks() const override {
    Hooks hooks = hooks_of({Hook::job_order, Hook::preemptable, Hook::events});
    if (hierarchy_) hooks |= hooks_of({Hook::queue_order, Hook::reclaimable});
    return hooks;
  }
  void open(Session& session) override {
    session_ = &session;
    shares_.assign(session.cluster().jobs().size(), 0.0);
    for (JobId job : session.jobs()) update(job);
    if (hierarchy_) tree_.build(session);
  }
  int queue_order(QueueId a, QueueId b) const override {
    refresh_tree();
    return tree_.compare(session_->at(a), session_->at(b));
  }
  Victims reclaimable(TaskId reclaimer, std::span<const TaskId> candidates) override {
    Victims victims;
    const Task& wants = session_->at(reclaimer);
    for (TaskId id : candidates) {
      const Task& task = session_->at(id);
      HierarchyTree::Move move{task.job, wants.job, &session_->cluster().class_of(task).request};
      tree_.refresh(*session_, &move);
      if (tree_.compare(session_->at(session_->at(wants.job).queue),
                        session_->at(session_->at(task.job).queue)) < 0)
        victims.tasks.push_back(id);
    }
    stale_ = true;
    return victims;
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
    stale_ = true;
    shares_[job.index()] = dominant_share(session_->at(job).claimed, session_->cluster().total());
  }
  void refresh_tree() const {
    if (stale_) tree_.refresh(*session_);
    stale_ = false;
  }

  const Session* session_ = nullptr;
  bool hierarchy_;
  std::vector<double> shares_;
  mutable HierarchyTree tree_;  // brought up to date when it is asked
  mutable bool stale_ = true;
};

}  // namespace

extern const PluginInfo plugin_drf;
const PluginInfo plugin_drf{"drf", "dominant resource fairness among jobs", "",
                            [](const PluginOption& option) -> std::unique_ptr<Plugin> {
                              return std::make_unique<Drf>(option.hierarchy);
                            }};

}  // namespace hekla::scheduler
