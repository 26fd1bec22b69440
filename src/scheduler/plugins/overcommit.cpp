// overcommit: lets groups in while their minResources, with those of the groups already let in and
// not yet placed, stay below the cluster's total times a factor, less what is used. Argument:
// overcommit-factor (1.2; below 1 means 1.2).
//
// Differs from Volcano: a group whose pods are already placed counts only with what it still lacks,
// so that nothing is counted twice in the moment between binding and the phase Running.
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr double kDefaultFactor = 1.2;

class Overcommit final : public Plugin {
 public:
  explicit Overcommit(const Arguments& arguments)
      : factor_(arguments.number("overcommit-factor", kDefaultFactor)) {
    if (factor_ < 1.0) factor_ = kDefaultFactor;
  }
  Hooks hooks() const override { return hooks_of({Hook::job_enqueueable, Hook::job_enqueued}); }

  void open(Session& session) override {
    session_ = &session;
    const Cluster& cluster = session.cluster();
    idle_ = Shares();
    each_dim(cluster.total().present,
             [&](Dim d) { idle_.set(d, static_cast<double>(cluster.total()[d]) * factor_); });
    idle_ -= cluster.used();
    inqueue_ = Resources();
    for (JobId id : session.jobs()) {
      const Job& job = session.at(id);
      bool running = job.phase == Phase::running && job.allocated_tasks() >= job.min_available;
      if (job.has_min_resources && (job.phase == Phase::inqueue || running))
        inqueue_ += job.outstanding();
    }
  }

  Vote job_enqueueable(JobId id) override {
    const Job& job = session_->at(id);
    if (!job.has_min_resources) return Vote::permit;
    Resources wanted = inqueue_;
    wanted += job.min_resources;
    std::uint32_t over = exceeded(wanted, idle_, job.min_resources);
    if (over == 0) return Vote::permit;
    session_->record_rejection(
        id, "resource in cluster is overused: " +
                session_->cluster().dimensions().list(over, "overused", job.min_unknown));
    return Vote::reject;
  }
  void job_enqueued(JobId id) override {
    const Job& job = session_->at(id);
    if (job.has_min_resources) inqueue_ += job.outstanding();
  }

 private:
  Session* session_ = nullptr;
  double factor_;
  Shares idle_;
  Resources inqueue_;
};

}  // namespace

extern const PluginInfo plugin_overcommit;
const PluginInfo plugin_overcommit{"overcommit", "lets in somewhat more work than fits",
                                   "overcommit-factor (1.2)",
                                   [](const PluginOption& option) -> std::unique_ptr<Plugin> {
                                     return std::make_unique<Overcommit>(option.arguments);
                                   }};

}  // namespace hekla::scheduler
