// validator.pytorchjob.training-operator.kubeflow.org. managedBy cannot be changed here, as the
// Training Operator means it: its own check compares the new job with itself and never fires.
#include "admission/step.h"
#include "admission/training_job.h"

namespace hekla::admission {
namespace {

constexpr std::string_view kMap = "pytorchReplicaSpecs";

void check_replicas(std::string_view role, const json::Value& spec, const std::string& path,
                    FieldErrors& errors) {
  const json::Value* replicas = json::find(spec, "replicas");
  const std::int64_t count = json::int_at(spec, {"replicas"});
  if (role == "Master") {
    if (count != 1) errors.forbidden(path + ".replicas", "must be 1");
  } else if (replicas && count < 1) {
    errors.forbidden(path + ".replicas", "must be at least 1");
  }
}

void check_elastic(const kube::AdmissionRequest& request, const json::Value& job,
                   FieldErrors& errors) {
  if (!json::object_at(job, {"spec", "elasticPolicy"})) return;
  if (!json::find_path(job, {"spec", kMap, "Worker"}))
    errors.required("spec.pytorchReplicaSpecs[Worker]",
                    "must be configured if elastic policy is used");
  if (!json::find_path(job, {"spec", "elasticPolicy", "nProcPerNode"})) return;
  request.warnings->emplace_back(
      "spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead");
  if (json::find_path(job, {"spec", "nprocPerNode"}))
    errors.forbidden("spec.elasticPolicy.nProcPerNode", "must not be used with spec.nprocPerNode");
}

Result<void> validate_pytorch_job(const Settings&, const kube::AdmissionRequest& request,
                                  const json::Value& job) {
  FieldErrors errors;
  check_job_name(job, errors);
  check_managed_by(job, request.old_object, errors);
  check_elastic(request, job, errors);
  check_roles(job, {kMap, "pytorch", "pytorch", {"Master", "Worker"}}, errors,
              [&](std::string_view role, const json::Value& spec, const std::string& path) {
                check_replicas(role, spec, path, errors);
              });
  return errors.refusal();
}

}  // namespace

extern const Step step_pytorchjobs_validate;
const Step step_pytorchjobs_validate{
    .name = "validator.pytorchjob.training-operator.kubeflow.org",
    .path = "/validate-kubeflow-org-v1-pytorchjob",
    .resources = {&kube::resources::pytorch_jobs},
    .when = Step::When::create_or_update,
    .validate = validate_pytorch_job,
};

}  // namespace hekla::admission
