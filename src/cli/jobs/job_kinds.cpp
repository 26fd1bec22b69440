#include "cli/jobs/job_kinds.h"

#include <algorithm>

#include "cli/volcano.h"

namespace hekla::cli {
namespace {

namespace resources = kube::resources;

constexpr std::string_view kTrainingLabel = "training.kubeflow.org/job-name";
constexpr std::string_view kJobSetLabel = "jobset.sigs.k8s.io/jobset-name";
constexpr const char* kSuspendPolicy = R"({"spec":{"runPolicy":{"suspend":true}}})";
constexpr const char* kSuspend = R"({"spec":{"suspend":true}})";

JobState volcano_state(const json::Value& status) {
  JobState state;
  state.word = json::string_at(status, {"state", "phase"});
  state.since = json::string_at(status, {"state", "lastTransitionTime"});
  state.succeeded = state.word == "Completed";
  state.ended = state.succeeded || state.word == "Failed" || state.word == "Terminated" ||
                state.word == "Aborted";
  return state;
}

// The last condition that holds; of conditions that say the end, that one.
JobState condition_state(const json::Value& status, std::string_view success) {
  JobState state;
  const json::Array* conditions = json::array_at(status, {"conditions"});
  for (std::size_t i = 0; conditions && i < conditions->size() && !state.succeeded; ++i) {
    const json::Value& one = (*conditions)[i];
    const std::string_view type = json::string_at(one, {"type"});
    if (json::string_at(one, {"status"}) != "True" || (state.ended && state.word == "Failed"))
      continue;
    state.word = type;
    state.reason = json::string_at(one, {"reason"});
    state.message = json::string_at(one, {"message"});
    state.since = json::string_at(one, {"lastTransitionTime"});
    state.succeeded = type == success;
    state.ended = state.succeeded || type == "Failed" || type == "Suspended";
  }
  return state;
}

JobState training_state(const json::Value& status) { return condition_state(status, "Succeeded"); }
JobState job_set_state(const json::Value& status) { return condition_state(status, "Completed"); }
JobState batch_state(const json::Value& status) {
  JobState state = condition_state(status, "Complete");
  if (state.ended || json::int_at(status, {"active"}) == 0) return state;
  return {.word = "Running"};
}
JobState train_job_state(const json::Value& status) { return condition_state(status, "Complete"); }

int sum_of_replicas(const json::Value& part) {
  if (const json::Array* tasks = part.if_array()) {
    int sum = 0;
    for (const json::Value& task : *tasks)
      sum += static_cast<int>(json::int_at(task, {"replicas"}, 1));
    return sum;
  }
  int sum = 0;
  if (const json::Object* roles = part.if_object())
    for (const auto& role : *roles)
      sum += static_cast<int>(json::int_at(role.value(), {"replicas"}, 1));
  return sum;
}

// Tasks of Volcano's jobs and roles of training jobs have replicas each; a batch job has one
// number.
int replicas_of(const json::Value& object) {
  const json::Object* spec = json::object_at(object, {"spec"});
  if (!spec) return 0;
  for (const auto& member : *spec)
    if (member.key() == "tasks" || std::string_view(member.key()).ends_with("ReplicaSpecs"))
      return sum_of_replicas(member.value());
  return static_cast<int>(json::int_at(object, {"spec", "parallelism"}));
}

JobKind training(const kube::Resource& resource, std::string_view title) {
  return {&resource, title, kTrainingLabel, training_state, kSuspendPolicy};
}

}  // namespace

std::span<const JobKind> job_kinds() {
  static const std::vector<JobKind> all = {
      {&resources::vcjobs, "job", {}, volcano_state, nullptr},
      training(resources::tf_jobs, "tfjob"),
      training(resources::pytorch_jobs, "pytorchjob"),
      training(resources::mpi_jobs, "mpijob"),
      training(resources::xgboost_jobs, "xgboostjob"),
      training(resources::paddle_jobs, "paddlejob"),
      training(resources::jax_jobs, "jaxjob"),
      training(resources::mx_jobs, "mxjob"),
      {&resources::train_jobs, "trainjob", kJobSetLabel, train_job_state, kSuspend},
      {&resources::job_sets, "jobset", kJobSetLabel, job_set_state, kSuspend},
      {&resources::batch_jobs, "batch job", {}, batch_state, kSuspend},
  };
  return all;
}

const JobKind* job_kind(const kube::Resource& resource) {
  for (const JobKind& kind : job_kinds())
    if (kind.resource->group == resource.group && kind.resource->plural == resource.plural)
      return &kind;
  return nullptr;
}

const JobKind* job_kind(const json::Value& object) {
  const std::string_view version = json::string_at(object, {"apiVersion"});
  for (const JobKind& kind : job_kinds())
    if (version.starts_with(kind.resource->group + "/") &&
        json::string_at(object, {"kind"}) == kind.resource->kind)
      return &kind;
  return nullptr;
}

const JobKind* job_kind_of_title(std::string_view title) {
  for (const JobKind& kind : job_kinds())
    if (kind.title == title) return &kind;
  return nullptr;
}

JobState state_of(const JobKind& kind, const json::Value& object) {
  static const json::Value none;
  const json::Value* status = json::find(object, "status");
  return kind.state(status ? *status : none);
}

JobRef job_ref(const JobKind& kind, const json::Value& object) {
  return {&kind,
          {std::string(json::string_at(object, {"metadata", "namespace"})),
           std::string(json::string_at(object, {"metadata", "name"}))},
          std::string(json::string_at(object, {"metadata", "uid"})),
          replicas_of(object)};
}

Result<std::optional<JobRef>> find_job(ApiSession& session, const std::string& ns,
                                       const std::string& name) {
  for (const JobKind& kind : job_kinds()) {
    Result<json::Value> job = session.call("GET", ApiSession::path_of(*kind.resource, ns, name));
    if (job) return job_ref(kind, *job);
    if (job.error().code != Code::not_found && job.error().code != Code::forbidden)
      return std::unexpected(job.error());
  }
  return std::nullopt;
}

std::string title_of(const JobRef& job) {
  return std::string(job.kind->title) + " " + job.key.name;
}

Result<void> stop_job(ApiSession& session, const JobRef& job) {
  if (!job.kind->stop) return command_job(session, job.key.ns, job.key.name, "AbortJob");
  TRY(session.call("PATCH", ApiSession::path_of(*job.kind->resource, job.key.ns, job.key.name),
                   job.kind->stop, "application/merge-patch+json"));
  return {};
}

std::string how_to_go_on(const JobRef& job) {
  const std::string& plural = job.kind->resource->plural;
  const std::string type = !job.kind->stop ? "vcjob"
                           : job.kind->resource->group == "batch"
                               ? "jobs.batch"
                               : plural.substr(0, plural.size() - 1);
  const std::string where = " -n " + job.key.ns;
  return title_of(job) + " goes on; hekla logs -f " + type + "/" + job.key.name + where +
         " follows it, " +
         (job.kind->stop ? "hekla delete " + type + "/" + job.key.name + where
                         : "hekla job suspend -N " + job.key.name + where) +
         " ends it";
}

bool is_pod_of(const JobRef& job, const model::ObjectMeta& pod) {
  bool owned_by_kind = false;
  for (const model::OwnerReference& owner : pod.ownerReferences) {
    if (owner.uid == job.uid) return true;
    owned_by_kind |= std::ranges::any_of(job_kinds(), [&](const JobKind& kind) {
      return kind.pod_label == job.kind->pod_label && kind.resource->kind == owner.kind;
    });
  }
  return !owned_by_kind && !job.kind->pod_label.empty() && pod.ns == job.key.ns &&
         pod.label(std::string(job.kind->pod_label)) == job.key.name;
}

}  // namespace hekla::cli
