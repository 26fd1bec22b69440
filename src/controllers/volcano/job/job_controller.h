// The vcjob controller: from changes of jobs, pods and pod groups to requests, from requests to
// rounds. One job has one round in flight; a round consumes every request that only syncs, and at
// most one that calls for an action, oldest first.
#pragma once

#include <map>
#include <set>

#include "base/metrics.h"
#include "controllers/volcano/caches.h"
#include "controllers/volcano/job/requests.h"
#include "controllers/volcano/job/round.h"
#include "kube/events.h"
#include "kube/reconcile.h"

namespace hekla::controllers {

// Lives on the client's executor.
class JobController {
 public:
  JobController(kube::Client& client, Caches& caches, kube::EventRecorder& events, Metrics* metrics,
                int max_requeue, PluginDefaults plugin_defaults);

  void enable() { loop_.enable(); }
  // A bus command for a job; it is gone from the API already.
  void command(const model::Command& command);

 private:
  struct Work {
    RequestQueue queue;
    DelayedActions delayed;
    std::set<std::string> killed;       // uids of pods this controller has ended
    std::set<std::string> prepared;     // see JobView
    std::set<std::string> removed;      // likewise
    std::vector<kube::Write> repairs;   // Secrets of an earlier job to be taken over
    bool deadline_passed = false;       // the job has been told to end
    std::string pending_message;        // of the last PodGroupPending event
    Action action = Action::sync;       // of the round being tried
    std::vector<std::uint64_t> trying;  // its requests
  };

  using JobRef = std::shared_ptr<const model::VcJob>;

  void job_changed(const JobRef& before, const JobRef& after);
  void pod_changed(const PodRef& before, const PodRef& after);
  void group_changed(const std::shared_ptr<const model::PodGroup>& before,
                     const std::shared_ptr<const model::PodGroup>& after);
  void report_pending(const kube::Key& key, const model::VcJob& job, const model::PodGroup& group);
  void request(const kube::Key& job, Request request);

  kube::Round reconcile(const kube::Key& key, WallTime now);
  kube::Round start_round(const kube::Key& key, const JobView& view, Plan plan,
                          RequestQueue::Choice choice);
  Result<void> settle(const kube::Key& key, const JobRef& job, const std::vector<Planned>& planned,
                      const std::vector<kube::WriteResult>& results);
  bool is_taken(const model::VcJob& job, const std::string& pod_name) const;
  // What the failure of one write means; nullopt when the round has still succeeded.
  std::optional<Error> judge(const JobRef& job, Work& work, const Planned& planned,
                             const Error& error);
  struct Outcome {
    RequestQueue::Choice choice;
    std::vector<std::string> prepares, removes;
    bool clears_prepared = false;
    bool keep_requests = false;
    bool goes_on = false;
  };
  void finish(const kube::Key& key, const Outcome& outcome);
  void gave_up(const kube::Key& key, int failures, const Error& error);
  JobView make_view(const JobRef& job, const Work& work, WallTime now) const;
  void record(const model::VcJob& job, const EventText& event);

  kube::Client& client_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Caches& caches_;
  kube::EventRecorder& events_;
  Metrics* metrics_;
  const int max_requeue_;
  const PluginDefaults plugin_defaults_;
  std::map<kube::Key, Work> work_;
  kube::ReconcileLoop loop_;
};

// The round of `request` in the job's current phase; pure.
Plan plan_round(const JobView& view, Action action, const Request& request);

}  // namespace hekla::controllers
