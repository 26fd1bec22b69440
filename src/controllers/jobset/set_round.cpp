#include "controllers/jobset/set_round.h"

#include <algorithm>
#include <charconv>

#include "model/time.h"

namespace hekla::controllers::jobset {
namespace {

namespace resources = kube::resources;
using framework::AnyObject, framework::AnyRef, framework::Outcome;

const std::string kController = "jobset.sigs.k8s.io/jobset-controller";

// Two conditions of which one ends the other, where it stands.
const framework::ConditionRules kConditions{
    .falsifies = {{"StartupPolicyInProgress", "StartupPolicyCompleted"},
                  {"StartupPolicyCompleted", "StartupPolicyInProgress"}}};

const std::string& label(const AnyObject& job, const std::string& key) {
  static const std::string none;
  auto found = job.metadata.labels.find(key);
  return found == job.metadata.labels.end() ? none : found->second;
}

std::int64_t attempt_of(const AnyObject& job) {
  const std::string& text = label(job, keys::restart_attempt);
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool is_true(const AnyObject& job, std::string_view type) {
  const json::Value* one = framework::find_condition(framework::conditions_of(job), type);
  return one && json::string_at(*one, {"status"}) == "True";
}

bool is_held(const AnyObject& job) { return json::bool_at(job.spec, {"suspend"}); }

// Absent: every replicated job.
bool is_target(const json::Value& spec, const std::string& job) {
  const json::Array* targets = json::array_at(spec, {"successPolicy", "targetReplicatedJobs"});
  return !targets || targets->empty() ||
         std::any_of(targets->begin(), targets->end(),
                     [&](const json::Value& one) { return json::equal(one, json::Value(job)); });
}

}  // namespace

Result<Outcome> reconcile_set(const Options& options, const AnyObject& object,
                              const framework::View& view) {
  const std::string manager = json::text_at(object.spec, {"managedBy"});
  if (!manager.empty() && manager != kController) return Outcome{};
  const JobSet set = read_job_set(object);
  return SetRound(set, options, view).run();
}

SetRound::SetRound(const JobSet& set, const Options& options, const framework::View& view)
    : set_(set),
      options_(options),
      view_(view),
      conditions_(set.object->status, kConditions, view.now()),
      status_(set.object->status.is_object() ? set.object->status.get_object() : json::Object()),
      gang_(wants_gang()) {}

Outcome SetRound::run() {
  gather();
  if (finished()) {
    finish();
    write_status();
    return std::move(outcome_);
  }
  for (const AnyRef& job : previous_)
    if (!job->metadata.deletionTimestamp) {
      framework::Removal removal =
          framework::removal_of(resources::batch_jobs, job->metadata, "the set is restarted");
      removal.propagation = "Foreground";
      outcome_.removals.push_back(std::move(removal));
    }
  std::int64_t there = 0;
  for (const auto& [name, counts] : counts_) there += counts.ready + counts.succeeded;
  if (!set_.suspended && there == set_.replicas()) end_restart("JobsReady", "all jobs are ready");
  if (!failed_.empty()) {
    judge_failures();
  } else if (has_succeeded()) {
    const std::string message = "jobset completed successfully";
    set_condition({"Completed", "True", "AllJobsCompleted", message});
    end_restart("JobSetCompleted", message);
    status_["terminalState"] = "Completed";
  } else {
    want_service();
    want_claims();
    if (set_.suspended)
      leave_gang();
    else
      admitted_ = admit_gang();
    want_jobs();
    set_.suspended ? suspend() : resume();
  }
  write_status();
  return std::move(outcome_);
}

void SetRound::gather() {
  for (const ReplicatedJob& job : set_.jobs) counts_[job.name];
  for (const AnyRef& job : view_.children(resources::batch_jobs)) {
    all_[job->metadata.name] = job;
    if (attempt_of(*job) < set_.restarts)
      previous_.push_back(job);
    else
      count(*job);
  }
}

void SetRound::count(const AnyObject& job) {
  const AnyRef& held = all_[job.metadata.name];
  auto found = counts_.find(label(job, keys::job_name));
  Counts ignored;
  Counts& counts = found == counts_.end() ? ignored : found->second;
  if (is_true(job, "Failed")) {
    failed_.push_back(held);
    ++counts.failed;
  } else if (is_true(job, "Complete")) {
    succeeded_.push_back(held);
    ++counts.succeeded;
  } else {
    active_.push_back(held);
    const std::int64_t parallelism = json::int_at(job.spec, {"parallelism"}, 1);
    const std::int64_t pods =
        std::min(parallelism, json::int_at(job.spec, {"completions"}, parallelism));
    if (json::int_at(job.status, {"succeeded"}) + json::int_at(job.status, {"ready"}) >= pods)
      ++counts.ready;
    if (json::int_at(job.status, {"active"}) > 0) ++counts.active;
    if (is_held(job)) ++counts.suspended;
  }
}

bool SetRound::finished() const {
  return conditions_.is_true("Completed") || conditions_.is_true("Failed");
}

void SetRound::finish() {
  for (const AnyRef& job : active_)
    if (!job->metadata.deletionTimestamp) {
      framework::Removal removal =
          framework::removal_of(resources::batch_jobs, job->metadata, "the set has ended");
      removal.propagation = "Foreground";
      outcome_.removals.push_back(std::move(removal));
    }
  leave_gang();
  const json::Value* ttl = json::find(set_.spec(), "ttlSecondsAfterFinished");
  if (!ttl || !ttl->is_number()) return;
  const json::Value* last =
      conditions_.find(conditions_.is_true("Failed") ? "Failed" : "Completed");
  Result<WallTime> ended = model::parse_rfc3339(json::string_at(*last, {"lastTransitionTime"}));
  if (!ended) return;
  const WallTime until = *ended + std::chrono::seconds(ttl->to_number<std::int64_t>());
  if (view_.now() < until) return outcome_.again_in(until - view_.now());
  framework::Removal removal =
      framework::removal_of(resources::job_sets, set_.object->metadata, "its time to live is over");
  removal.propagation = "Foreground";
  outcome_.removals.push_back(std::move(removal));
}

bool SetRound::has_succeeded() const {
  if (succeeded_.empty()) return false;
  std::int64_t wanted = 0, have = 0;
  for (const ReplicatedJob& job : set_.jobs)
    if (is_target(set_.spec(), job.name)) wanted += job.replicas;
  if (json::string_at(set_.spec(), {"successPolicy", "operator"}) == "Any") wanted = 1;
  for (const AnyRef& job : succeeded_) have += is_target(set_.spec(), label(*job, keys::job_name));
  return have >= wanted;
}

// Sets may share one: whoever comes first has made it.
void SetRound::want_service() {
  const kube::Key key{set_.object->metadata.ns, set_.subdomain};
  if (!set_.has_hostnames || view_.find(resources::services, key)) return;
  const bool early = json::bool_at(set_.spec(), {"network", "publishNotReadyAddresses"}, true);
  outcome_.children.push_back(
      {resources::services,
       json::Object{{"metadata", json::Object{{"name", set_.subdomain}}},
                    {"spec", json::Object{{"clusterIP", "None"},
                                          {"selector", json::Object{{keys::set_name, set_.name()}}},
                                          {"publishNotReadyAddresses", early}}}},
       nullptr, framework::Care::create_once});
}

void SetRound::want_claims() {
  const json::Array* policies = json::array_at(set_.spec(), {"volumeClaimPolicies"});
  if (!policies) return;
  for (const json::Value& policy : *policies) {
    const json::Array* claims = json::array_at(policy, {"templates"});
    const bool stays = json::string_at(policy, {"retentionPolicy", "whenDeleted"}) == "Retain";
    for (std::size_t i = 0; claims && i < claims->size(); ++i) {
      const json::Value& claim = (*claims)[i];
      const std::string name = claim_name(set_, claim);
      if (view_.find(resources::persistent_volume_claims, {set_.object->metadata.ns, name}))
        continue;
      json::Value body = json::Object{{"metadata", json::Object{{"name", name}}}};
      for (const char* member : {"labels", "annotations"})
        if (const json::Value* given = json::find_path(claim, {"metadata", member}))
          json::at_path(body, {"metadata", member}) = *given;
      json::at_path(body, {"metadata", "labels", keys::set_name}) = set_.name();
      if (const json::Value* spec = json::find(claim, "spec"))
        json::at_path(body, {"spec"}) = *spec;
      outcome_.children.push_back(
          {resources::persistent_volume_claims, std::move(body), nullptr,
           framework::Care::create_once,
           stays ? framework::Ownership::none : framework::Ownership::controller});
    }
  }
}

bool SetRound::may_start(const ReplicatedJob& job) const {
  return std::all_of(job.depends_on.begin(), job.depends_on.end(), [&](const Dependency& on) {
    auto counts = counts_.find(on.name);
    auto other = std::find_if(set_.jobs.begin(), set_.jobs.end(),
                              [&](const ReplicatedJob& one) { return one.name == on.name; });
    if (counts == counts_.end() || other == set_.jobs.end()) return false;
    return other->replicas == (on.complete ? counts->second.succeeded : counts->second.started());
  });
}

bool SetRound::is_started(const ReplicatedJob& job) const {
  return counts_.at(job.name).started() == job.replicas;
}

bool SetRound::blocks_until_gone() const {
  return !previous_.empty() &&
         json::string_at(set_.spec(), {"failurePolicy", "restartStrategy"}) == "BlockingRecreate";
}

void SetRound::want_jobs() {
  const bool in_order = set_.in_order && !set_.suspended;
  for (const ReplicatedJob& job : set_.jobs) {
    if (!may_start(job)) continue;
    if (in_order && is_started(job)) continue;
    if (!blocks_until_gone() && (admitted_ || !is_member(job)))
      for (std::int32_t i = 0; i < job.replicas; ++i) want_job(job, i);
    if (in_order)
      return set_condition({"StartupPolicyInProgress", "True", "InOrderStartupPolicyInProgress",
                            "in order startup policy is in progress"});
  }
  if (in_order)
    set_condition({"StartupPolicyCompleted", "True", "InOrderStartupPolicyCompleted",
                   "in order startup policy has completed"});
}

void SetRound::want_job(const ReplicatedJob& job, std::int32_t index) {
  if (all_.contains(set_.child_name(job, index))) return;
  json::Value body = child_job(set_, job, index);
  join_gang(job, body);
  outcome_.children.push_back(
      {resources::batch_jobs, std::move(body), nullptr, framework::Care::create_once});
}

void SetRound::suspend() {
  for (const AnyRef& job : active_)
    if (!is_held(*job) && !job->metadata.deletionTimestamp)
      outcome_.edits.push_back({resources::batch_jobs, framework::key_of(job->metadata),
                                json::Object{{"spec", json::Object{{"suspend", true}}}},
                                job->metadata.uid});
  set_condition({"Suspended", "True", "SuspendedJobs", "jobset is suspended"});
  end_restart("JobSetSuspended", "jobset is suspended");
}

void SetRound::resume() {
  for (const ReplicatedJob& job : set_.jobs) {
    if (!may_start(job)) continue;
    if (set_.in_order && is_started(job)) continue;
    for (const AnyRef& one : active_)
      if (label(*one, keys::job_name) == job.name && is_held(*one) &&
          !one->metadata.deletionTimestamp && (admitted_ || !is_member(job)))
        resume_job(*one, job);
    if (set_.in_order) return;
  }
  if (conditions_.is_true("Suspended") && admitted_)
    set_condition({"Suspended", "False", "ResumeJobs", "jobset is resumed"});
}

// Changes that a queue has made of the pods while the set was held back go to its Jobs with the
// release. A Job that ran before begins anew.
void SetRound::resume_job(const AnyObject& job, const ReplicatedJob& from) {
  const kube::Key key = framework::key_of(job.metadata);
  if (!json::string_at(job.status, {"startTime"}).empty())
    outcome_.edits.push_back({resources::batch_jobs, key,
                              json::Object{{"status", json::Object{{"startTime", nullptr}}}},
                              job.metadata.uid, "status"});
  json::Value merge = json::Object{{"spec", json::Object{{"suspend", false}}}};
  const json::Value* pod = from.pod_template();
  for (const auto& [part, member] :
       {std::pair{"metadata", "labels"}, {"metadata", "annotations"}, {"spec", "nodeSelector"}})
    if (const json::Value* given = pod ? json::find_path(*pod, {part, member}) : nullptr)
      json::at_path(merge, {"spec", "template", part, member}) = *given;
  for (const char* member : {"tolerations", "schedulingGates"}) {
    const json::Array* given = pod ? json::array_at(*pod, {"spec", member}) : nullptr;
    if (!given) continue;
    const json::Array* have = json::array_at(job.spec, {"template", "spec", member});
    json::Array both = have ? *have : json::Array();
    for (const json::Value& one : *given)
      if (std::none_of(both.begin(), both.end(),
                       [&](const json::Value& other) { return json::equal(one, other); }))
        both.push_back(one);
    json::at_path(merge, {"spec", "template", "spec", member}) = std::move(both);
  }
  outcome_.edits.push_back({resources::batch_jobs, key, std::move(merge), job.metadata.uid});
}

void SetRound::set_condition(const framework::Condition& condition, const char* event_type) {
  if (conditions_.set(condition))
    outcome_.tell_with_status(event_type, condition.reason, condition.message);
}

void SetRound::end_restart(const std::string& reason, const std::string& message) {
  if (conditions_.is_true("RestartingJobSet"))
    set_condition({"RestartingJobSet", "False", reason, message});
}

void SetRound::write_status() {
  json::Array jobs;
  for (const ReplicatedJob& job : set_.jobs) {
    const Counts& counts = counts_.at(job.name);
    jobs.push_back(json::Object{{"name", job.name},
                                {"ready", counts.ready},
                                {"succeeded", counts.succeeded},
                                {"failed", counts.failed},
                                {"active", counts.active},
                                {"suspended", counts.suspended}});
  }
  status_["replicatedJobsStatus"] = std::move(jobs);
  if (!status_.contains("restarts")) status_["restarts"] = 0;
  if (!conditions_.list().empty()) status_["conditions"] = conditions_.list();
  outcome_.status = std::move(status_);
}

}  // namespace hekla::controllers::jobset
