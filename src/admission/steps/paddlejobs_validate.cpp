// validator.paddlejob.training-operator.kubeflow.org.
#include "admission/step.h"
#include "admission/training_job.h"

namespace hekla::admission {
namespace {

Result<void> validate_paddle_job(const Settings&, const kube::AdmissionRequest& request,
                                 const json::Value& job) {
  FieldErrors errors;
  check_job_name(job, errors);
  check_managed_by(job, request.old_object, errors);
  check_roles(job, {"paddleReplicaSpecs", "paddle", "\"paddle\"", {"Master", "Worker"}}, errors);
  return errors.refusal();
}

}  // namespace

extern const Step step_paddlejobs_validate;
const Step step_paddlejobs_validate{
    .name = "validator.paddlejob.training-operator.kubeflow.org",
    .path = "/validate-kubeflow-org-v1-paddlejob",
    .resources = {&kube::resources::paddle_jobs},
    .when = Step::When::create_or_update,
    .validate = validate_paddle_job,
};

}  // namespace hekla::admission
