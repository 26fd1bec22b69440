// validator.jaxjob.training-operator.kubeflow.org: workers only. managedBy is not looked at.
#include "admission/step.h"
#include "admission/training_job.h"

namespace hekla::admission {
namespace {

Result<void> validate(const Settings&, const kube::AdmissionRequest&, const json::Value& job) {
  FieldErrors errors;
  check_job_name(job, errors);
  check_roles(job, {"jaxReplicaSpecs", "jax", "jax", {"Worker"}}, errors);
  return errors.refusal();
}

bool matches(const kube::Resource& resource, kube::Operation operation,
             std::string_view subresource) {
  return resource == kube::resources::jax_jobs && is_written(operation, subresource);
}

}  // namespace

extern const Step step_jaxjobs_validate;
const Step step_jaxjobs_validate{"validator.jaxjob.training-operator.kubeflow.org",
                                 "/validate-kubeflow-org-v1-jaxjob", matches, nullptr, validate};

}  // namespace hekla::admission
