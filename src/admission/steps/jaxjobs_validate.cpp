// validator.jaxjob.training-operator.kubeflow.org: workers only. managedBy is not looked at.
#include "admission/step.h"
#include "admission/training_job.h"

namespace hekla::admission {
namespace {

Result<void> validate_jax_job(const Settings&, const kube::AdmissionRequest&,
                              const json::Value& job) {
  FieldErrors errors;
  check_job_name(job, errors);
  check_roles(job, {"jaxReplicaSpecs", "jax", "jax", {"Worker"}}, errors);
  return errors.refusal();
}

}  // namespace

extern const Step step_jaxjobs_validate;
const Step step_jaxjobs_validate{
    .name = "validator.jaxjob.training-operator.kubeflow.org",
    .path = "/validate-kubeflow-org-v1-jaxjob",
    .resources = {&kube::resources::jax_jobs},
    .when = Step::When::create_or_update,
    .validate = validate_jax_job,
};

}  // namespace hekla::admission
