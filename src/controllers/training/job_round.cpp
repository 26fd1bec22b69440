#include "controllers/training/job_round.h"

#include <algorithm>

#include "controllers/training/read_job.h"
#include "model/time.h"

namespace hekla::controllers::training {
namespace {

namespace resources = kube::resources;
using framework::CleanPods, framework::Outcome, framework::RunVerdict;

const std::string kDeadlineReason = "it was active longer than specified deadline";
const std::string kBackoffReason = "it has reached the specified backoff limit";

std::string limit_message(const std::string& job, const std::string& why) {
  return "Job " + job + " has failed because " + why;
}

bool is_ours(const framework::AnyObject& object) {
  const std::string_view by = json::string_at(object.spec, {"runPolicy", "managedBy"});
  return by.empty() || by == "kubeflow.org/training-operator" || by == "kubeflow.org/mpi-operator";
}

void replace_all(std::string& text, std::string_view word, const std::string& value) {
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + value.size()))
    text.replace(at, word.size(), value);
}

const std::shared_ptr<const framework::ChildWords>& words_of_job_removal() {
  static const auto words = std::make_shared<const framework::ChildWords>(framework::ChildWords{
      .removed = framework::EventText{"Normal", "SuccessfulDeleteJob", "Deleted job: {name}"},
      .remove_failed =
          framework::EventText{"Warning", "FailedDeleteJob", "Error deleting: {error}"}});
  return words;
}

}  // namespace

Result<Outcome> reconcile_job(const TrainingKind& any_version, const Options& options,
                              const framework::AnyObject& object, const framework::View& view) {
  if (!is_ours(object)) return Outcome{};
  const TrainingKind& kind = variant_of(any_version, object);
  std::string wrong = kind.invalid ? kind.invalid(object) : "";
  Result<TrainingJob> job = read_job(kind, options, object);
  if (wrong.empty() && !job) wrong = job.error().message;
  if (wrong.empty()) return JobRound(*job, view).run();
  Outcome outcome;
  outcome.tell("Warning", kind.resource.kind + "FailedValidation",
               kind.resource.kind + " failed validation because " + wrong);
  outcome.failure = Error{Code::invalid, wrong};
  return outcome;
}

JobRound::JobRound(const TrainingJob& job, const framework::View& view)
    : job_(job),
      kind_(*job.kind),
      view_(view),
      conditions_(job.object->status, framework::kTrainingConditions, view.now()),
      status_(job.object->status.is_object() ? job.object->status.get_object() : json::Object()),
      progress_(read_progress(*job.object)),
      progress_before_(progress_),
      was_restarting_(conditions_.is_true("Restarting")),
      gang_(wants_gang()) {}

Outcome JobRound::run() {
  conditions_.set({"Created", "True", reason("Created"), filled(kind_.words.created)});
  if (finished()) {
    finish();
  } else if (job_.policy.suspend) {
    suspend();
  } else {
    resume();
    gather();
    if (!pass_limits()) {
      const bool may_make = admit_gang();
      if (kind_.companions) kind_.companions(*this, Stage::running);
      const bool empty = std::all_of(roles_.begin(), roles_.end(), [](const RoleState& one) {
        return std::all_of(one.pods.begin(), one.pods.end(), [](const auto& pod) { return !pod; });
      });
      if (!may_make && empty) {
        if (!status_.contains("lastReconcileTime"))
          status_["lastReconcileTime"] = model::format_rfc3339(view_.now());
      } else {
        if (restarting_gang_) restart_gang();
        for (RoleState& one : roles_)
          if (one.replica->pods) reconcile_role(one, may_make && !restarting_gang_);
        count();
        if (!status_.contains("startTime"))
          status_["startTime"] = model::format_rfc3339(view_.now());
        put_counts();
        kind_.conclude ? kind_.conclude(*this) : conclude();
      }
    }
  }
  note_progress();
  write_status();
  return std::move(outcome_);
}

bool JobRound::finished() const {
  return conditions_.is_true("Succeeded") || conditions_.is_true("Failed");
}

// A job that ended before anybody noted when has done so with its last condition.
void JobRound::finish() {
  if (!status_.contains("completionTime")) {
    const json::Value* last =
        conditions_.find(conditions_.is_true("Failed") ? "Failed" : "Succeeded");
    const std::string_view at = json::string_at(*last, {"lastTransitionTime"});
    status_["completionTime"] = at.empty() ? model::format_rfc3339(view_.now()) : std::string(at);
  }
  const RunVerdict verdict = judge(job_.policy, facts(), view_.now());
  if (verdict.again_after) outcome_.again_in(*verdict.again_after);
  CleanPods policy = job_.policy.clean_pods;
  // A deadline means that nothing runs any more, whatever is kept otherwise.
  const json::Value* failed = conditions_.find("Failed");
  if (policy == CleanPods::none && failed &&
      json::string_at(*failed, {"message"}) == limit_message(job_.name, kDeadlineReason))
    policy = CleanPods::running;
  clean_pods(policy);
  leave_gang();
  if (kind_.companions) kind_.companions(*this, Stage::ended);
  if (conditions_.is_true("Succeeded"))
    if (json::Value* roles = status_.if_contains("replicaStatuses"); roles && roles->is_object())
      for (auto& role : roles->get_object()) {
        const std::int64_t active = json::int_at(role.value(), {"active"});
        if (active == 0) continue;
        json::Object& counts = role.value().get_object();
        counts["succeeded"] = json::int_at(role.value(), {"succeeded"}) + active;
        counts.erase("active");
      }
  if (verdict.act != RunVerdict::Act::remove_object) return;
  framework::Removal removal =
      framework::removal_of(kind_.resource, job_.object->metadata, "its time to live is over");
  removal.words = words_of_job_removal();
  outcome_.removals.push_back(std::move(removal));
}

// A pod's Service goes with it; under a policy that removes anything, so do Services without pods.
void JobRound::clean_pods(CleanPods policy) {
  if (policy == CleanPods::none) return;
  std::set<std::string> kept;
  for (const framework::PodRef& pod : view_.pods()) {
    CleanPods rule = policy;
    // TensorBoard is looked at when the training is over.
    for (const Replica& one : job_.replicas)
      if (one.bystander && policy == CleanPods::running && job_.index_of(one, pod->metadata.name))
        rule = CleanPods::none;
    if (is_cleaned(rule, *pod))
      remove(resources::pods, pod->metadata);
    else if (!pod->metadata.deletionTimestamp)
      kept.insert(pod->metadata.name);
  }
  for (const framework::AnyRef& service : view_.children(resources::services))
    if (!service->metadata.deletionTimestamp && !kept.contains(service->metadata.name) &&
        kind_.services)
      remove(resources::services, service->metadata);
}

void JobRound::suspend() {
  clean_pods(CleanPods::all);
  leave_gang();
  if (kind_.companions) kind_.companions(*this, Stage::suspended);
  progress_ = {};
  if (json::Value* roles = status_.if_contains("replicaStatuses"); roles && roles->is_object())
    for (auto& role : roles->get_object())
      if (role.value().is_object()) role.value().get_object().erase("active");
  const std::string message = filled(kind_.words.suspended);
  if (conditions_.is_true("Running"))
    conditions_.set({"Running", "False", reason("Suspended"), message});
  conditions_.set({"Suspended", "True", reason("Suspended"), message});
  outcome_.tell_with_status("Normal", reason("Suspended"), message);
}

void JobRound::resume() {
  if (!conditions_.is_true("Suspended")) return;
  const std::string message = filled(kind_.words.resumed);
  conditions_.set({"Suspended", "False", reason("Resumed"), message});
  status_["startTime"] = model::format_rfc3339(view_.now());
  outcome_.tell_with_status("Normal", reason("Resumed"), message);
}

bool JobRound::pass_limits() {
  const RunVerdict verdict = judge(job_.policy, facts(), view_.now());
  if (verdict.again_after) outcome_.again_in(*verdict.again_after);
  if (verdict.act != RunVerdict::Act::fail) return false;
  const bool deadline = verdict.limit == RunVerdict::Limit::deadline;
  set_failed(limit_message(job_.name, deadline ? kDeadlineReason : kBackoffReason));
  return true;
}

std::optional<WallTime> JobRound::time_of(std::string_view member) const {
  const json::Value* found = json::find(status_, member);
  if (!found || !found->is_string()) return std::nullopt;
  Result<WallTime> time = model::parse_rfc3339(json::sv(found->get_string()));
  if (!time) return std::nullopt;
  return *time;
}

framework::RunFacts JobRound::facts() const {
  framework::RunFacts facts;
  facts.started = time_of("startTime");
  facts.ended = time_of("completionTime");
  facts.finished = finished();
  facts.retries = progress_.restarts;
  for (const RoleState& role : roles_) {
    if (role.replica->restart == RestartPolicy::never || role.replica->bystander) continue;
    for (const framework::PodRef& pod : role.pods) {
      if (!pod || pod->status.phase != "Running") continue;
      for (const auto* list : {&pod->status.containerStatuses, &pod->status.initContainerStatuses})
        for (const model::ContainerStatus& one : *list)
          facts.container_restarts += one.restartCount;
    }
  }
  return facts;
}

std::string JobRound::reason(std::string_view suffix) const {
  return kind_.resource.kind + std::string(suffix);
}

std::string JobRound::filled(std::string_view text, const RoleState* role) const {
  std::string made(text);
  replace_all(made, "{kind}", kind_.resource.kind);
  replace_all(made, "{job}", job_.name);
  replace_all(made, "{key}", job_.ns + "/" + job_.name);
  if (!role) return made;
  replace_all(made, "{count}", std::to_string(role->failed));
  replace_all(made, "{role}", role->replica->type);
  return made;
}

RoleState* JobRound::role(std::string_view type) {
  for (RoleState& one : roles_)
    if (one.replica->type == type) return &one;
  return nullptr;
}

void JobRound::want(const kube::Resource& resource, json::Value body, framework::Care care) {
  outcome_.children.push_back({.resource = resource, .body = std::move(body), .care = care});
}

void JobRound::remove(const kube::Resource& resource, const model::ObjectMeta& object) {
  outcome_.removals.push_back(framework::removal_of(resource, object));
}

void JobRound::write_status() {
  status_["conditions"] = conditions_.list();
  outcome_.status = std::move(status_);
}

}  // namespace hekla::controllers::training
