#include "controllers/workload/batch_job.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "model/time.h"

namespace hekla::controllers {
namespace {

// Why a job is over, before the last of its pods is.
struct Ending {
  bool success = false;
  std::string reason, message;
};

// One look at a job: what its pods are, what counts, what follows.
class JobRound {
 public:
  JobRound(const AnyObject& job, const std::vector<PodRef>& pods, WallTime now)
      : job_(job), pods_(pods), now_(now), conditions_(conditions_of(job)) {
    indexed_ = json::string_at(job.spec, {"completionMode"}) == "Indexed";
    only_failed_ = json::string_at(job.spec, {"podReplacementPolicy"}) == "Failed" ||
                   json::find(job.spec, "podFailurePolicy");
    per_index_ = json::find(job.spec, "backoffLimitPerIndex");
    suspended_ = json::bool_at(job.spec, {"suspend"});
    if (const json::Value* count = json::find(job.spec, "completions"))
      completions_ = count->to_number<std::int64_t>();
    parallelism_ = json::int_at(job.spec, {"parallelism"}, 1);
    start_ = std::string(json::string_at(job.status, {"startTime"}));
  }

  Outcome plan() {
    read_status();
    note_suspension();
    if (!suspended_ && start_.empty()) start_ = model::format_rfc3339(now_);
    ending_ = earlier_ending();
    count_pods();
    if (!ending_) ending_ = new_ending();
    if (ending_)
      end();
    else if (suspended_)
      remove_active(0);
    else
      fill();
    write_status();
    return std::move(plan_);
  }

 private:
  void read_status();
  void note_suspension();
  std::optional<Ending> earlier_ending() const;
  void count_pods();
  void count(const model::Pod& pod);
  void count_failure(const model::Pod& pod);
  std::optional<Ending> new_ending();
  std::optional<Ending> failed_ending();
  std::optional<Ending> met_success_policy() const;
  std::optional<Ending> past_deadline();
  void end();
  void remove_active(std::int64_t keep);
  void fill();
  void fill_indexes(std::int64_t room);
  // Of all pods of the job, or of one index.
  Nanos wait_for_backoff(const std::vector<PodRef>& pods, std::int64_t* failures = nullptr) const;
  void set_condition(const std::string& type, const std::string& status, const std::string& reason,
                     const std::string& message);
  void write_status();
  bool has(const std::string& type) const {
    const json::Value* one = find_condition(conditions_, type);
    return one && json::string_at(*one, {"status"}) == "True";
  }
  std::int64_t total_succeeded() const {
    return indexed_ ? static_cast<std::int64_t>(completed_.size())
                    : succeeded_ + static_cast<std::int64_t>(fresh_succeeded_.size());
  }
  std::int64_t total_failed() const {
    return failed_ + static_cast<std::int64_t>(fresh_failed_.size());
  }

  const AnyObject& job_;
  const std::vector<PodRef>& pods_;
  WallTime now_;
  json::Array conditions_;
  Outcome plan_;
  bool indexed_ = false, only_failed_ = false, per_index_ = false, suspended_ = false;
  std::optional<std::int64_t> completions_;
  std::int64_t parallelism_ = 1;
  std::string start_, completed_at_;
  // Counted for good, and on their way there.
  std::int64_t succeeded_ = 0, failed_ = 0;
  std::set<std::string> fresh_succeeded_, fresh_failed_, known_;
  JobIndexes completed_, failed_indexes_;
  std::vector<PodRef> active_;
  std::int64_t ready_ = 0, terminating_ = 0;
  std::string fail_job_;
  std::optional<Ending> ending_;
};

void JobRound::read_status() {
  succeeded_ = json::int_at(job_.status, {"succeeded"});
  failed_ = json::int_at(job_.status, {"failed"});
  completed_ = parse_job_indexes(json::string_at(job_.status, {"completedIndexes"}));
  failed_indexes_ = parse_job_indexes(json::string_at(job_.status, {"failedIndexes"}));
  std::set<std::string> held;
  for (const PodRef& pod : pods_)
    if (tracked_by_job(*pod)) held.insert(pod->metadata.uid);
  auto take = [&](std::string_view member, std::set<std::string>& fresh, std::int64_t& counter) {
    const json::Array* uids = json::array_at(job_.status, {"uncountedTerminatedPods", member});
    if (!uids) return;
    for (const json::Value& one : *uids) {
      if (!one.is_string()) continue;
      std::string uid(json::sv(one.get_string()));
      known_.insert(uid);
      if (held.contains(uid))
        fresh.insert(uid);
      else
        ++counter;
    }
  };
  take("succeeded", fresh_succeeded_, succeeded_);
  take("failed", fresh_failed_, failed_);
}

void JobRound::set_condition(const std::string& type, const std::string& status,
                             const std::string& reason, const std::string& message) {
  drop_condition(conditions_, type);
  std::string time = model::format_rfc3339(now_);
  conditions_.push_back(json::Object{{"type", type},
                                     {"status", status},
                                     {"lastProbeTime", time},
                                     {"lastTransitionTime", time},
                                     {"reason", reason},
                                     {"message", message}});
}

void JobRound::note_suspension() {
  if (suspended_) {
    if (!has("Suspended")) {
      set_condition("Suspended", "True", "JobSuspended", "Job suspended");
      plan_.tell("Normal", "Suspended", "Job suspended");
    }
    start_.clear();
  } else if (has("Suspended")) {
    set_condition("Suspended", "False", "JobResumed", "Job resumed");
    plan_.tell("Normal", "Resumed", "Job resumed");
    start_ = model::format_rfc3339(now_);
  }
}

std::optional<Ending> JobRound::earlier_ending() const {
  for (const char* type : {"FailureTarget", "SuccessCriteriaMet"})
    if (has(type)) {
      const json::Value* one = find_condition(conditions_, type);
      return Ending{std::string_view(type) == "SuccessCriteriaMet",
                    std::string(json::string_at(*one, {"reason"})),
                    std::string(json::string_at(*one, {"message"}))};
    }
  return std::nullopt;
}

void JobRound::count_pods() {
  for (const PodRef& pod : pods_) {
    bool finished = pod_finished(*pod), leaving = bool(pod->metadata.deletionTimestamp);
    if (!finished && !leaving) {
      active_.push_back(pod);
      ready_ += pod_ready(*pod);
      continue;
    }
    if (!finished) ++terminating_;
    if (!tracked_by_job(*pod)) continue;
    bool over = finished || (leaving && (!only_failed_ || suspended_ || ending_));
    if (!over) continue;
    if (known_.contains(pod->metadata.uid)) {
      plan_.edits.push_back(release_from_job(*pod));
    } else if (!finished && suspended_) {
      plan_.edits.push_back(release_from_job(*pod));
    } else {
      count(*pod);
    }
  }
}

void JobRound::count(const model::Pod& pod) {
  std::int64_t index = job_index_of(pod);
  if (pod.status.phase != "Succeeded") return count_failure(pod);
  // A second success of the same index counts for nothing.
  if (indexed_ &&
      (index < 0 || (completions_ && index >= *completions_) || completed_.contains(index))) {
    plan_.edits.push_back(release_from_job(pod));
    return;
  }
  if (indexed_) completed_.insert(index);
  failed_indexes_.erase(index);
  fresh_succeeded_.insert(pod.metadata.uid);
}

void JobRound::count_failure(const model::Pod& pod) {
  FailureVerdict verdict = judge_failed_pod(job_, pod);
  if (verdict.action == "Ignore") {
    plan_.edits.push_back(release_from_job(pod));
    return;
  }
  if (verdict.action == "FailJob" && fail_job_.empty()) fail_job_ = verdict.message;
  fresh_failed_.insert(pod.metadata.uid);
  std::int64_t index = job_index_of(pod);
  if (!per_index_ || index < 0 || completed_.contains(index)) return;
  if (verdict.action == "FailIndex" ||
      index_failures_of(pod) >= json::int_at(job_.spec, {"backoffLimitPerIndex"}))
    failed_indexes_.insert(index);
}

std::optional<Ending> JobRound::met_success_policy() const {
  const json::Array* rules = json::array_at(job_.spec, {"successPolicy", "rules"});
  if (!rules || !indexed_) return std::nullopt;
  for (std::size_t i = 0; i < rules->size(); ++i) {
    const json::Value& rule = (*rules)[i];
    std::int64_t met = static_cast<std::int64_t>(completed_.size()), needed = met + 1;
    std::string_view indexes = json::string_at(rule, {"succeededIndexes"});
    if (!indexes.empty()) {
      JobIndexes wanted = parse_job_indexes(indexes);
      met = std::count_if(wanted.begin(), wanted.end(),
                          [&](std::int64_t one) { return completed_.contains(one); });
      needed = static_cast<std::int64_t>(wanted.size());
    }
    needed = json::int_at(rule, {"succeededCount"}, needed);
    if (met >= needed)
      return Ending{true, "SuccessPolicy", "Matched rules at index " + std::to_string(i)};
  }
  return std::nullopt;
}

std::optional<Ending> JobRound::past_deadline() {
  const json::Value* deadline = json::find(job_.spec, "activeDeadlineSeconds");
  Result<WallTime> started = model::parse_rfc3339(start_);
  if (!deadline || suspended_ || !started) return std::nullopt;
  WallTime until = *started + std::chrono::seconds(deadline->to_number<std::int64_t>());
  if (now_ >= until)
    return Ending{false, "DeadlineExceeded", "Job was active longer than specified deadline"};
  wake_in(plan_.again_after, until - now_);
  return std::nullopt;
}

std::optional<Ending> JobRound::failed_ending() {
  if (!fail_job_.empty()) return Ending{false, "PodFailurePolicy", fail_job_};
  std::int64_t limit = json::int_at(job_.spec, {"backoffLimit"}, per_index_ ? 2147483647 : 6);
  std::int64_t restarts = 0;
  if (json::string_at(template_of(job_), {"spec", "restartPolicy"}) == "OnFailure")
    for (const PodRef& pod : active_)
      for (const auto* statuses :
           {&pod->status.initContainerStatuses, &pod->status.containerStatuses})
        for (const model::ContainerStatus& one : *statuses) restarts += one.restartCount;
  bool restarted = restarts > 0 && (limit == 0 || restarts >= limit);
  if (total_failed() > limit || restarted)
    return Ending{false, "BackoffLimitExceeded", "Job has reached the specified backoff limit"};
  if (std::optional<Ending> late = past_deadline()) return late;
  if (!per_index_) return std::nullopt;
  auto lost = static_cast<std::int64_t>(failed_indexes_.size());
  if (const json::Value* most = json::find(job_.spec, "maxFailedIndexes");
      most && lost > most->to_number<std::int64_t>())
    return Ending{false, "MaxFailedIndexesExceeded",
                  "Job has exceeded the specified maximal number of failed indexes"};
  if (lost > 0 && completions_ && total_succeeded() + lost >= *completions_)
    return Ending{false, "FailedIndexes", "Job has failed indexes"};
  return std::nullopt;
}

std::optional<Ending> JobRound::new_ending() {
  if (std::optional<Ending> met = met_success_policy()) return met;
  if (std::optional<Ending> failed = failed_ending()) return failed;
  bool done = completions_ ? total_succeeded() >= *completions_
                           : total_succeeded() > 0 && active_.empty() && terminating_ == 0;
  if (!completions_ && parallelism_ == 0) done = false;
  if (!done) return std::nullopt;
  return Ending{true, "CompletionsReached", "Reached expected number of succeeded pods"};
}

void JobRound::end() {
  std::string target = ending_->success ? "SuccessCriteriaMet" : "FailureTarget";
  if (!has(target)) set_condition(target, "True", ending_->reason, ending_->message);
  remove_active(0);
  bool waiting =
      !active_.empty() || terminating_ > 0 || !fresh_succeeded_.empty() || !fresh_failed_.empty();
  if (waiting) return;
  if (ending_->success) {
    set_condition("Complete", "True", ending_->reason, ending_->message);
    completed_at_ = model::format_rfc3339(now_);
    plan_.tell("Normal", "Completed", "Job completed");
  } else {
    set_condition("Failed", "True", ending_->reason, ending_->message);
    plan_.tell("Warning", ending_->reason, ending_->message);
  }
}

void JobRound::remove_active(std::int64_t keep) {
  // Those that have come least far go first.
  std::sort(active_.begin(), active_.end(), [](const PodRef& a, const PodRef& b) {
    if (pod_ready(*a) != pod_ready(*b)) return pod_ready(*a);
    if (a->spec.nodeName.empty() != b->spec.nodeName.empty()) return !a->spec.nodeName.empty();
    return a->metadata.creationTimestamp.at < b->metadata.creationTimestamp.at;
  });
  auto first = static_cast<std::size_t>(std::max<std::int64_t>(0, keep));
  for (std::size_t i = first; i < active_.size(); ++i)
    plan_.removals.push_back(removal_of(kube::resources::pods, active_[i]->metadata));
}

// What is left to wait for after the failures since the last success; of one index, if it is >= 0.
Nanos JobRound::wait_for_backoff(const std::vector<PodRef>& pods, std::int64_t* failures) const {
  std::optional<WallTime> last_success, last_failure;
  for (const PodRef& pod : pods)
    if (pod->status.phase == "Succeeded") last_success = std::max(last_success, pod_ended_at(*pod));
  std::int64_t count = 0;
  for (const PodRef& pod : pods) {
    if (pod->status.phase != "Failed") continue;
    std::optional<WallTime> ended = pod_ended_at(*pod);
    if (last_success && ended < last_success) continue;
    if (judge_failed_pod(job_, *pod).action == "Ignore") continue;
    ++count;
    last_failure = std::max(last_failure, ended);
  }
  if (failures) *failures = count;
  if (!last_failure) return Nanos(0);
  return std::max(Nanos(0), *last_failure + job_backoff(count) - now_);
}

void JobRound::fill_indexes(std::int64_t room) {
  JobIndexes busy;
  std::map<std::int64_t, std::vector<PodRef>> tried;
  for (const PodRef& pod : pods_) {
    if (!pod_finished(*pod) && (only_failed_ || !pod->metadata.deletionTimestamp))
      busy.insert(job_index_of(*pod));
    if (per_index_ && pod_finished(*pod)) tried[job_index_of(*pod)].push_back(pod);
  }
  for (std::int64_t i = 0; i < completions_.value_or(0) && room > 0; ++i) {
    if (completed_.contains(i) || failed_indexes_.contains(i) || busy.contains(i)) continue;
    std::int64_t failures = 0;
    if (auto before = tried.find(i); before != tried.end())
      if (Nanos left = wait_for_backoff(before->second, &failures); left > Nanos(0)) {
        wake_in(plan_.again_after, left);
        continue;
      }
    plan_.children.push_back(once(kube::resources::pods, new_job_pod(job_, i, failures)));
    --room;
  }
}

void JobRound::fill() {
  auto active = static_cast<std::int64_t>(active_.size());
  std::int64_t wanted = parallelism_;
  if (completions_) {
    std::int64_t left = *completions_ - total_succeeded() -
                        (per_index_ ? static_cast<std::int64_t>(failed_indexes_.size()) : 0);
    wanted = std::min(wanted, left);
  } else if (total_succeeded() > 0) {
    wanted = std::min(active, parallelism_);
  }
  if (active > wanted) return remove_active(wanted);
  std::int64_t room = wanted - active - (only_failed_ ? terminating_ : 0);
  room = std::min(room, static_cast<std::int64_t>(owned_pods().burst));
  if (room <= 0) return;
  if (!per_index_) {
    if (Nanos left = wait_for_backoff(pods_); left > Nanos(0)) {
      wake_in(plan_.again_after, left);
      return;
    }
  }
  if (indexed_) return fill_indexes(room);
  auto base = std::make_shared<const json::Value>(new_job_pod(job_, -1, 0));
  for (std::int64_t i = 0; i < room; ++i)
    plan_.children.push_back({.resource = kube::resources::pods,
                              .body = json::Object(),
                              .base = base,
                              .care = Care::create_once});
}

void JobRound::write_status() {
  json::Object status;
  if (!start_.empty()) status["startTime"] = start_;
  if (!completed_at_.empty()) status["completionTime"] = completed_at_;
  put_count(status, "active", static_cast<std::int64_t>(active_.size()));
  status["ready"] = ready_;
  status["terminating"] = terminating_;
  put_count(status, "succeeded",
            indexed_ ? static_cast<std::int64_t>(completed_.size()) : succeeded_);
  put_count(status, "failed", failed_);
  if (!completed_.empty()) status["completedIndexes"] = format_job_indexes(completed_);
  if (per_index_) status["failedIndexes"] = format_job_indexes(failed_indexes_);
  json::Object uncounted;
  auto uids = [](const std::set<std::string>& all) {
    json::Array list;
    for (const std::string& one : all) list.emplace_back(one);
    return list;
  };
  if (!fresh_succeeded_.empty()) uncounted["succeeded"] = uids(fresh_succeeded_);
  if (!fresh_failed_.empty()) uncounted["failed"] = uids(fresh_failed_);
  status["uncountedTerminatedPods"] = std::move(uncounted);
  if (!conditions_.empty()) status["conditions"] = conditions_;
  plan_.status = std::move(status);
}

// Removes the job when its time after finishing is up.
void expire_job(const AnyObject& job, WallTime now, Outcome& plan) {
  const json::Value* ttl = json::find(job.spec, "ttlSecondsAfterFinished");
  if (!ttl || job.metadata.deletionTimestamp) return;
  for (const char* type : {"Complete", "Failed"}) {
    const json::Value* one = find_condition(conditions_of(job), type);
    if (!one || json::string_at(*one, {"status"}) != "True") continue;
    Result<WallTime> since = model::parse_rfc3339(json::string_at(*one, {"lastTransitionTime"}));
    if (!since) return;
    WallTime until = *since + std::chrono::seconds(ttl->to_number<std::int64_t>());
    if (until > now) return wake_in(plan.again_after, until - now);
    plan.removals.push_back(removal_of(kube::resources::batch_jobs, job.metadata, "it expired"));
    plan.removals.back().propagation = "Foreground";
    return;
  }
}

Outcome reconcile_batch_job(const AnyObject& job, const View& view) {
  Outcome outcome;
  std::string_view owner = json::string_at(job.spec, {"managedBy"});
  if (!owner.empty() && owner != "kubernetes.io/job-controller") return outcome;
  const std::vector<PodRef> pods = view.pods();
  if (!job.metadata.deletionTimestamp && !batch_job_finished(job))
    return JobRound(job, pods, view.now()).plan();
  for (const PodRef& pod : pods)
    if (tracked_by_job(*pod)) outcome.edits.push_back(release_from_job(*pod));
  expire_job(job, view.now(), outcome);
  return outcome;
}

}  // namespace

bool batch_job_finished(const AnyObject& job, bool* succeeded) {
  for (const char* type : {"Complete", "Failed"}) {
    const json::Value* one = find_condition(conditions_of(job), type);
    if (!one || json::string_at(*one, {"status"}) != "True") continue;
    if (succeeded) *succeeded = std::string_view(type) == "Complete";
    return true;
  }
  return false;
}

KindDescription batch_job_kind() {
  return {.name = "job-controller",
          .resource = kube::resources::batch_jobs,
          .owns = {owned_pods()},
          .reconcile = reconcile_batch_job,
          .reconcile_terminating = true};
}

OrphanedJobPods::OrphanedJobPods(kube::CacheSet& caches)
    : caches_(caches),
      pods_(caches.of<model::Pod>(kube::resources::pods)),
      jobs_(caches.of<AnyObject>(kube::resources::batch_jobs)),
      loop_(caches, {.name = "job-orphans"},
            [this](const kube::Key& key, WallTime) { return round(key); }) {
  pods_.on_change([this](const PodRef&, const PodRef& after) {
    if (after) look_at(*after);
  });
  jobs_.on_change([this](const AnyRef& before, const AnyRef& after) {
    if (after || !before) return;
    for (const PodRef& pod :
         caches_.controlled_by<model::Pod>(kube::resources::pods, before->metadata.uid))
      look_at(*pod);
  });
  caches_.on_synced([this] { loop_.enable(); });
}

void OrphanedJobPods::look_at(const model::Pod& pod) {
  if (!tracked_by_job(pod)) return;
  const model::OwnerReference* owner = pod.metadata.controller();
  if (!owner || !jobs_.get({pod.metadata.ns, owner->name})) loop_.add(key_of(pod.metadata));
}

kube::Round OrphanedJobPods::round(const kube::Key& key) {
  kube::Round round;
  PodRef pod = pods_.get(key);
  if (!pod || !tracked_by_job(*pod)) return round;
  const model::OwnerReference* owner = pod->metadata.controller();
  AnyRef job = owner ? jobs_.get({key.ns, owner->name}) : nullptr;
  if (job && job->metadata.uid == owner->uid) return round;
  Edit release = release_from_job(*pod);
  json::at_path(release.merge, {"metadata", "uid"}) = release.uid;
  round.writes.push_back(merge_patch(release.resource, release.key, std::move(release.merge)));
  return round;
}

}  // namespace hekla::controllers
