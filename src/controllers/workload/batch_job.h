// batch/v1 Jobs: pods until enough of them have succeeded.
//
// A finished pod is counted exactly once: its uid is first written to
// status.uncountedTerminatedPods, then its tracking finalizer goes, then the uid moves into the
// counters. A crash between any two of these loses nothing.
#pragma once

#include <set>

#include "controllers/workload/caches.h"

namespace hekla::controllers {

using JobIndexes = std::set<std::int64_t>;
// "0-3,5" and back.
JobIndexes parse_job_indexes(std::string_view text);
std::string format_job_indexes(const JobIndexes& indexes);

inline constexpr std::string_view kJobTracking = "batch.kubernetes.io/job-tracking";
bool tracked_by_job(const model::Pod& pod);
kube::Write release_from_job(const model::Pod& pod);

// The index of a pod of an Indexed job; -1 without one.
std::int64_t job_index_of(const model::Pod& pod);
// How often this index had failed before the pod was made.
std::int64_t index_failures_of(const model::Pod& pod);
json::Value new_job_pod(const Workload& job, std::int64_t index, std::int64_t failures);

// What podFailurePolicy says about a failed pod: FailJob, FailIndex, Ignore, Count, or nothing.
struct FailureVerdict {
  std::string action, message;
};
FailureVerdict judge_failed_pod(const Workload& job, const model::Pod& pod);

// When the pod ended, as well as its status tells.
std::optional<WallTime> pod_ended_at(const model::Pod& pod);
// Ten seconds, doubled for every failure, at most ten minutes.
Nanos job_backoff(std::int64_t failures);

// Pure: what to do about `job`, given its pods.
WorkloadPlan plan_batch_job(const Workload& job, const std::vector<WorkloadPod>& pods, WallTime now,
                            const std::string* failure);
bool batch_job_finished(const Workload& job, bool* succeeded = nullptr);

class BatchJobs {
 public:
  explicit BatchJobs(WorkloadCaches& caches);

 private:
  void release_orphan(const WorkloadPod& pod);

  WorkloadCaches& caches_;
  WorkloadLoop loop_;
  // Pods whose job is gone: nobody will count them, so nothing must hold them.
  kube::ReconcileLoop orphans_;
};

}  // namespace hekla::controllers
