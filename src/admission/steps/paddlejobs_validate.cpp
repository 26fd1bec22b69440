// validator.paddlejob.training-operator.kubeflow.org.
#include "admission/step.h"
#include "admission/training_job.h"

namespace hekla::admission {
namespace {

Result<void> validate(const Settings&, const kube::AdmissionRequest& request,
                      const json::Value& job) {
  FieldErrors errors;
  check_job_name(job, errors);
  check_managed_by(job, request.old_object, errors);
  check_roles(job, {"paddleReplicaSpecs", "paddle", "\"paddle\"", {"Master", "Worker"}}, errors);
  return errors.refusal();
}

bool matches(const kube::Resource& resource, kube::Operation operation,
             std::string_view subresource) {
  return resource == kube::resources::paddle_jobs && is_written(operation, subresource);
}

}  // namespace

extern const Step step_paddlejobs_validate;
const Step step_paddlejobs_validate{"validator.paddlejob.training-operator.kubeflow.org",
                                    "/validate-kubeflow-org-v1-paddlejob", matches, nullptr,
                                    validate};

}  // namespace hekla::admission
