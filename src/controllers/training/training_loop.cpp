#include "controllers/training/training_loop.h"

#include <functional>
#include <map>
#include <set>

#include "framework/condition.h"
#include "framework/pod_group.h"
#include "framework/pods.h"
#include "framework/run_policy.h"
#include "model/time.h"

namespace hekla::controllers::training {
namespace {

using framework::AnyObject;
using framework::Care;
using framework::Outcome;
using framework::PodRef;
using framework::View;
namespace resources = kube::resources;

const std::string kPrefix = "training.kubeflow.org/";
// How a pod ended of which no container tells.
constexpr std::int32_t kUnknownExit = 0xBEEF;
constexpr std::int32_t kRetryable = 128;

std::string operator_name(const TrainingKind& kind) {
  std::string name = kind.resource.plural;
  name.pop_back();
  return name + "-controller";
}

std::optional<WallTime> time_at(const json::Value& status, std::string_view member) {
  Result<WallTime> parsed = model::parse_rfc3339(json::string_at(status, {member}));
  return parsed ? std::optional<WallTime>(*parsed) : std::nullopt;
}

// One look at a job.
class JobRound {
 public:
  JobRound(const TrainingKind& kind, const TrainingOptions& options, const AnyObject& object,
           const View& view)
      : kind_(kind),
        options_(options),
        view_(view),
        job_(read_job(kind, object)),
        conditions_(object.status, framework::kTrainingConditions, view.now()),
        started_(time_at(object.status, "startTime")),
        ended_(time_at(object.status, "completionTime")) {}

  Result<Outcome> run();

 private:
  void count_pods();
  void finish();
  void suspend();
  void resume();
  void exceed(framework::RunVerdict::Limit limit);
  Result<bool> admitted();
  void fill();
  void fill_role(const Replicas& role);
  void restart(const Replicas& role, const model::Pod& pod);
  void judge();
  void write_status();

  framework::Child pod(const Replicas& role, std::int32_t index) const;
  framework::Child service(const Replicas& role, std::int32_t index) const;
  json::Object labels(const Replicas& role, std::int32_t index) const;
  void remove_members(const std::function<bool(const model::Pod&)>& goes,
                      const std::string& reason);
  void remove_group();
  // A condition, and the event that goes with it.
  void set(const std::string& type, const std::string& status, const std::string& what,
           const std::string& message, const std::string& event_type = "Normal");
  void end(const std::string& type, const std::string& message);
  bool gang() const { return !options_.gang_scheduler.empty(); }
  const std::string& name() const { return job_.object.metadata.name; }

  const TrainingKind& kind_;
  const TrainingOptions& options_;
  const View& view_;
  TrainingJob job_;
  framework::Conditions conditions_;
  std::optional<WallTime> started_, ended_;
  std::vector<PodRef> pods_;
  std::map<std::string, PodRef> by_name_;
  std::set<std::string> members_;  // names of those that shall be there
  bool restarting_ = false;
  Outcome outcome_;
};

void JobRound::set(const std::string& type, const std::string& status, const std::string& what,
                   const std::string& message, const std::string& event_type) {
  const std::string reason = kind_.resource.kind + what;
  if (conditions_.set({type, status, reason, message}) && what != "Created")
    outcome_.tell_with_status(event_type, reason, message);
}

void JobRound::end(const std::string& type, const std::string& message) {
  if (!ended_) ended_ = view_.now();
  set(type, "True", type, message);
}

Result<Outcome> JobRound::run() {
  using Act = framework::RunVerdict::Act;
  const framework::RunPolicy policy =
      framework::read_run_policy(json::find(job_.object.spec, "runPolicy"));
  count_pods();
  set("Created", "True", "Created", kind_.resource.kind + " " + name() + " is created.");
  framework::RunFacts facts{
      started_, ended_, conditions_.is_true("Succeeded") || conditions_.is_true("Failed"), 0, 0};
  for (const PodRef& pod : pods_)
    for (const model::ContainerStatus& one : pod->status.containerStatuses)
      if (pod->status.phase == "Running") facts.container_restarts += one.restartCount;
  const framework::RunVerdict verdict = framework::judge(policy, facts, view_.now());
  if (verdict.again_after) outcome_.again_in(*verdict.again_after);
  switch (verdict.act) {
    case Act::remove_object:
      outcome_.removals.push_back(
          framework::removal_of(kind_.resource, job_.object.metadata, "its time to live is over"));
      return std::move(outcome_);
    case Act::clean_up:
      finish();
      break;
    case Act::suspend:
      suspend();
      break;
    case Act::fail:
      exceed(verdict.limit);
      break;
    case Act::go_on:
      resume();
      if (TRY(admitted())) fill();
      judge();
      break;
  }
  write_status();
  return std::move(outcome_);
}

void JobRound::count_pods() {
  pods_ = view_.pods();
  for (const PodRef& pod : pods_) by_name_[pod->metadata.name] = pod;
  for (Replicas& role : job_.replicas)
    for (std::int32_t index = 0; index < role.count; ++index) {
      const std::string title = job_.member_name(role, index);
      auto pod = by_name_.find(title);
      if (pod == by_name_.end()) continue;
      const std::string& phase = pod->second->status.phase;
      job_.pods[title] = phase;
      const bool leaving = bool(pod->second->metadata.deletionTimestamp);
      role.active += phase == "Running" && !leaving;
      role.succeeded += phase == "Succeeded";
      role.failed += phase == "Failed" || (phase == "Running" && leaving);
    }
}

// A service goes with its pod. Looked at from the service, so that one whose pod went before a
// crash is found as well.
void JobRound::remove_members(const std::function<bool(const model::Pod&)>& goes,
                              const std::string& reason) {
  for (const PodRef& pod : pods_)
    if (!pod->metadata.deletionTimestamp && goes(*pod))
      outcome_.removals.push_back(framework::removal_of(resources::pods, pod->metadata, reason));
  for (const framework::AnyRef& service : view_.children(resources::services)) {
    auto pod = by_name_.find(service->metadata.name);
    const bool kept =
        pod != by_name_.end() && !pod->second->metadata.deletionTimestamp && !goes(*pod->second);
    if (!kept && !service->metadata.deletionTimestamp)
      outcome_.removals.push_back(
          framework::removal_of(resources::services, service->metadata, reason));
  }
}

void JobRound::remove_group() {
  if (!gang()) return;
  auto group = view_.child(resources::pod_groups, name());
  if (!group || group->metadata.deletionTimestamp) return;
  outcome_.tell("Normal", "JobTerminated", "Job has been terminated. Deleting PodGroup");
  outcome_.removals.push_back(
      framework::removal_of(resources::pod_groups, group->metadata, "the job has ended"));
}

void JobRound::finish() {
  const framework::RunPolicy policy =
      framework::read_run_policy(json::find(job_.object.spec, "runPolicy"));
  remove_members(
      [&](const model::Pod& pod) { return framework::is_cleaned(policy.clean_pods, pod); },
      "the job has ended");
  remove_group();
  if (!conditions_.is_true("Succeeded")) return;
  for (Replicas& role : job_.replicas) {
    role.succeeded += role.active;
    role.active = 0;
  }
}

void JobRound::suspend() {
  remove_members([](const model::Pod&) { return true; }, "the job is suspended");
  remove_group();
  for (Replicas& role : job_.replicas) role.active = 0;
  const std::string message = kind_.resource.kind + " " + name() + " is suspended.";
  if (conditions_.is_true("Running"))
    conditions_.set({"Running", "False", kind_.resource.kind + "Suspended", message});
  set("Suspended", "True", "Suspended", message);
}

void JobRound::resume() {
  if (conditions_.is_true("Suspended")) {
    set("Suspended", "False", "Resumed", kind_.resource.kind + " " + name() + " is resumed.");
    started_ = view_.now();
  }
  if (!started_) started_ = view_.now();
}

void JobRound::exceed(framework::RunVerdict::Limit limit) {
  remove_members(
      [](const model::Pod& pod) {
        return framework::is_cleaned(framework::CleanPods::running, pod);
      },
      "the job has failed");
  // Only a job whose pods are on their way out has failed: the next round cleans up by another
  // policy, and a removal may be refused.
  if (!outcome_.removals.empty()) return;
  remove_group();
  end("Failed", "Job " + name() + " has failed because it " +
                    (limit == framework::RunVerdict::Limit::deadline
                         ? "was active longer than specified deadline"
                         : "has reached the specified backoff limit"));
}

// Keeps the gang's group. No pods until the scheduler has let it into its queue.
Result<bool> JobRound::admitted() {
  if (!gang()) return true;
  const json::Value none;
  const json::Value* given = json::find_path(job_.object.spec, {"runPolicy", "schedulingPolicy"});
  const json::Value& policy = given ? *given : none;
  framework::Gang gang{.name = name()};
  if (std::string queue = json::text_at(policy, {"queue"}); !queue.empty()) gang.queue = queue;
  gang.priority_class = json::text_at(policy, {"priorityClass"});
  gang.annotations = job_.object.metadata.annotations;
  if (json::find(policy, "minAvailable"))
    gang.min_member = static_cast<std::int32_t>(json::int_at(policy, {"minAvailable"}));
  if (const json::Value* minimum = json::find(policy, "minResources"))
    gang.min_resources = TRY(json::decode<model::ResourceList>(*minimum));
  for (const Replicas& role : job_.replicas)
    gang.roles.push_back({role_label(role), role.count, 0, &role.pod_template});
  auto priority_of = [this](const std::string& title) {
    auto found = view_.find<model::PriorityClass>(resources::priority_classes, {"", title});
    return found ? static_cast<std::int32_t>(found->value) : 0;
  };
  auto group = view_.child(resources::pod_groups, name());
  outcome_.children.push_back(TRY(framework::pod_group(gang, priority_of, group.get())));
  return framework::is_admitted(group.get());
}

void JobRound::fill() {
  for (const Replicas& role : job_.replicas) fill_role(role);
  // Scaled down: members beyond the last index.
  for (const auto& [title, pod] : by_name_)
    if (!job_.pods.contains(title) && !pod->metadata.deletionTimestamp)
      outcome_.removals.push_back(
          framework::removal_of(resources::pods, pod->metadata, "the job was scaled down"));
  for (const framework::AnyRef& service : view_.children(resources::services))
    if (!members_.contains(service->metadata.name) && !service->metadata.deletionTimestamp)
      outcome_.removals.push_back(
          framework::removal_of(resources::services, service->metadata, "the job was scaled down"));
}

void JobRound::fill_role(const Replicas& role) {
  for (std::int32_t index = 0; index < role.count; ++index) {
    const std::string title = job_.member_name(role, index);
    members_.insert(title);
    auto found = by_name_.find(title);
    if (found == by_name_.end())
      outcome_.children.push_back(pod(role, index));
    else
      restart(role, *found->second);
    if (kind_.services && !view_.child(resources::services, title))
      outcome_.children.push_back(service(role, index));
  }
}

void JobRound::restart(const Replicas& role, const model::Pod& pod) {
  if (pod.status.phase != "Failed" || pod.metadata.deletionTimestamp) return;
  const std::int32_t code = framework::exit_code_of(pod, kind_.container).value_or(kUnknownExit);
  const bool again = role.restart == RestartPolicy::on_failure ||
                     role.restart == RestartPolicy::always ||
                     (role.restart == RestartPolicy::exit_code && code >= kRetryable);
  if (again) {
    restarting_ = true;
    outcome_.removals.push_back(
        framework::removal_of(resources::pods, pod.metadata, "it failed and is made again"));
    set("Restarting", "True", "Restarting",
        "job " + name() + " is restarting because " + role.role + " replica(s) failed.", "Warning");
  } else if (role.restart == RestartPolicy::exit_code) {
    end("Failed",
        "job \"" + name() + "\" is failing because \"" + role.role + "\" replica(s) failed.");
  }
}

json::Object JobRound::labels(const Replicas& role, std::int32_t index) const {
  json::Object labels{{kPrefix + "operator-name", operator_name(kind_)},
                      {kPrefix + "job-name", name()},
                      {kPrefix + "replica-type", role_label(role)},
                      {kPrefix + "replica-index", std::to_string(index)}};
  return labels;
}

framework::Child JobRound::pod(const Replicas& role, std::int32_t index) const {
  json::Value pod = framework::pod_from_template(role.pod_template);
  json::at_path(pod, {"metadata", "name"}) = job_.member_name(role, index);
  for (const auto& label : labels(role, index))
    json::at_path(pod, {"metadata", "labels", label.key()}) = label.value();
  if (kind_.is_master(job_, role, index))
    json::at_path(pod, {"metadata", "labels", kPrefix + "job-role"}) = "master";
  json::at_path(pod, {"spec", "restartPolicy"}) = role.restart == RestartPolicy::always ? "Always"
                                                  : role.restart == RestartPolicy::on_failure
                                                      ? "OnFailure"
                                                      : "Never";
  if (gang()) framework::join_gang(pod, name(), role_label(role), options_.gang_scheduler);
  kind_.environment(job_, role, index, pod);
  return {.resource = resources::pods, .body = std::move(pod), .care = Care::create_once};
}

framework::Child JobRound::service(const Replicas& role, std::int32_t index) const {
  json::Array ports;
  json::Value copy = role.pod_template;
  framework::for_each_container(copy, false, [&](json::Object& container) {
    const json::Value* given = json::find(container, "ports");
    if (json::string_at(container, {"name"}) != kind_.container || !given || !given->is_array())
      return;
    for (const json::Value& one : given->get_array())
      ports.push_back(json::Object{{"name", json::string_at(one, {"name"})},
                                   {"port", json::int_at(one, {"containerPort"})}});
  });
  json::Object own = labels(role, index);
  return {.resource = resources::services,
          .body = json::Object{{"metadata", json::Object{{"name", job_.member_name(role, index)},
                                                         {"labels", own}}},
                               {"spec", json::Object{{"clusterIP", "None"},
                                                     {"selector", own},
                                                     {"ports", std::move(ports)}}}},
          .care = Care::create_once};
}

void JobRound::judge() {
  if (conditions_.is_true("Failed")) return;
  const Standing standing = kind_.judge(job_);
  const std::string subject = kind_.subject(job_);
  if (standing.succeeded) {
    end("Succeeded", subject + " successfully completed.");
  } else if (standing.failed && !restarting_) {
    end("Failed", subject + " has failed because " + std::to_string(standing.failed->failed) + " " +
                      standing.failed->role + " replica(s) failed.");
  } else if (standing.running && !restarting_) {
    set("Running", "True", "Running", subject + " is running.");
  }
}

void JobRound::write_status() {
  json::Object replicas;
  for (const Replicas& role : job_.replicas) {
    json::Object counts;
    if (role.active) counts["active"] = role.active;
    if (role.succeeded) counts["succeeded"] = role.succeeded;
    if (role.failed) counts["failed"] = role.failed;
    replicas[role.role] = std::move(counts);
  }
  json::Object status{{"conditions", conditions_.list()}, {"replicaStatuses", std::move(replicas)}};
  if (started_) status["startTime"] = model::format_rfc3339(*started_);
  if (ended_) status["completionTime"] = model::format_rfc3339(*ended_);
  outcome_.status = std::move(status);
}

framework::ChildWords words(const std::string& kind, const std::string& noun) {
  return {.created = {{"Normal", "SuccessfulCreate" + kind, "Created " + noun + ": {name}"}},
          .create_failed = {{"Warning", "FailedCreate" + kind, "Error creating: {error}"}},
          .removed = {{"Normal", "SuccessfulDelete" + kind, "Deleted " + noun + ": {name}"}},
          .remove_failed = {{"Warning", "FailedDelete" + kind, "Error deleting: {error}"}}};
}

}  // namespace

framework::KindDescription describe(const TrainingKind& kind, TrainingOptions options) {
  framework::KindDescription description{.name = operator_name(kind), .resource = kind.resource};
  description.owns = {{.resource = resources::pods, .words = words("Pod", "pod")},
                      {.resource = resources::services, .words = words("Service", "service")}};
  if (!options.gang_scheduler.empty()) {
    framework::ChildWords group = words("PodGroup", "PodGroup");
    group.created = std::nullopt;
    description.owns.push_back({.resource = resources::pod_groups, .words = std::move(group)});
    description.follows.push_back(
        framework::follow<model::PriorityClass>(resources::priority_classes));
  }
  description.reconcile = [&kind, options](const AnyObject& object, const View& view) {
    return JobRound(kind, options, object, view).run();
  };
  return description;
}

}  // namespace hekla::controllers::training
