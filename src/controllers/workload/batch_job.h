// batch/v1 Jobs: pods until enough of them have succeeded.
//
// A finished pod is counted exactly once: its uid is first written to
// status.uncountedTerminatedPods, then its tracking finalizer goes, then the uid moves into the
// counters. A crash between any two of these loses nothing.
#pragma once

#include <set>

#include "controllers/workload/objects.h"
#include "kube/reconcile.h"

namespace hekla::controllers {

using JobIndexes = std::set<std::int64_t>;
// "0-3,5" and back.
JobIndexes parse_job_indexes(std::string_view text);
std::string format_job_indexes(const JobIndexes& indexes);

inline constexpr std::string_view kJobTracking = "batch.kubernetes.io/job-tracking";
bool tracked_by_job(const model::Pod& pod);
Edit release_from_job(const model::Pod& pod);

// The index of a pod of an Indexed job; -1 without one.
std::int64_t job_index_of(const model::Pod& pod);
// How often this index had failed before the pod was made.
std::int64_t index_failures_of(const model::Pod& pod);
json::Value new_job_pod(const AnyObject& job, std::int64_t index, std::int64_t failures);

// What podFailurePolicy says about a failed pod: FailJob, FailIndex, Ignore, Count, or nothing.
struct FailureVerdict {
  std::string action, message;
};
FailureVerdict judge_failed_pod(const AnyObject& job, const model::Pod& pod);

// When the pod ended, as well as its status tells.
std::optional<WallTime> pod_ended_at(const model::Pod& pod);
// Ten seconds, doubled for every failure, at most ten minutes.
Nanos job_backoff(std::int64_t failures);

KindDescription batch_job_kind();
bool batch_job_finished(const AnyObject& job, bool* succeeded = nullptr);

// Pods whose job is gone: nobody will count them, so nothing must hold them.
class OrphanedJobPods {
 public:
  explicit OrphanedJobPods(kube::CacheSet& caches);

 private:
  void look_at(const model::Pod& pod);
  kube::Round round(const kube::Key& key);

  kube::CacheSet& caches_;
  kube::Informer<model::Pod>& pods_;
  kube::Informer<AnyObject>& jobs_;
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
