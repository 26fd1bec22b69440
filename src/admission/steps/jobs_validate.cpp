// validatejob.volcano.sh: what a job must keep when it is created, and what may change afterwards:
// gang sizes, replicas, the priority class, and the names of claims the controller makes.
#include "admission/job_spec.h"
#include "admission/pod_template.h"
#include "admission/step.h"
#include "admission/text.h"

namespace hekla::admission {
namespace {

std::string update_errors(const model::VcJobSpec& before, const model::VcJobSpec& after,
                          const std::string& job) {
  std::int64_t replicas = 0;
  for (const model::TaskSpec& task : after.tasks) {
    if (task.replicas < 0) return "'replicas' must be >= 0 in task: " + task.name;
    if (task.minAvailable && *task.minAvailable < 0)
      return "'minAvailable' must be >= 0 in task: " + task.name;
    if (task.minAvailable && *task.minAvailable > task.replicas)
      return "'minAvailable' must be <= 'replicas' in task: " + task.name;
    if (std::string errors = partition_errors(task, job); !errors.empty()) return errors;
    replicas += task.replicas;
  }
  if (replicas > kPodsMax)
    return "total replicas in tasks must not be greater than " + std::to_string(kPodsMax);
  if (after.minAvailable > replicas)
    return "job 'minAvailable' must not be greater than total replicas";
  if (after.minAvailable < 0) return "job 'minAvailable' must be >= 0";
  if (before.tasks.size() != after.tasks.size()) return "job updates may not add or remove tasks";
  return {};
}

// The spec without what may change.
json::Value fixed_part(model::VcJobSpec spec) {
  spec.minAvailable = 0;
  spec.priorityClassName.clear();
  for (model::TaskSpec& task : spec.tasks) {
    task.replicas = 0;
    task.minAvailable.reset();
    normalise_template(task.podTemplate);
  }
  for (model::JobVolume& volume : spec.volumes)
    if (!volume.volumeClaim.is_null()) volume.volumeClaimName.clear();
  return json::encode(spec);
}

Result<void> validate_job(const Settings& settings, const kube::AdmissionRequest& request,
                          const json::Value& object) {
  Result<model::VcJob> job = json::decode<model::VcJob>(object);
  if (!job) return fail(Code::bad_request, job.error().message);
  if (request.operation == kube::Operation::create) {
    std::string name = job->metadata.name.empty() ? request.key.name : job->metadata.name;
    return deny_if(job_spec_errors({settings, job->spec, name, request.reader, request.warnings}));
  }
  if (!request.old_object) return {};
  Result<model::VcJob> old = json::decode<model::VcJob>(*request.old_object);
  if (!old) return fail(Code::bad_request, old.error().message);
  TRY(deny_if(update_errors(old->spec, job->spec, job->metadata.name)));
  if (json::equal(fixed_part(old->spec), fixed_part(job->spec))) return {};
  return fail(
      Code::bad_request,
      "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under "
      "spec` and `PriorityClassName`");
}

}  // namespace

extern const Step step_jobs_validate;
const Step step_jobs_validate{
    .name = "validatejob.volcano.sh",
    .path = "/jobs/validate",
    .resources = {&kube::resources::vcjobs},
    .when = Step::When::create_or_update,
    .validate = validate_job,
};

}  // namespace hekla::admission
