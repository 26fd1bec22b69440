// validator.xgboostjob.training-operator.kubeflow.org: one master, which is always there.
#include "admission/step.h"
#include "admission/training_job.h"

namespace hekla::admission {
namespace {

constexpr std::string_view kMap = "xgbReplicaSpecs";

Result<void> validate_xgboost_job(const Settings&, const kube::AdmissionRequest& request,
                                  const json::Value& job) {
  FieldErrors errors;
  check_job_name(job, errors);
  check_managed_by(job, request.old_object, errors);
  check_roles(job, {kMap, "xgboost", "xgboost", {"Master", "Worker"}}, errors,
              [&](std::string_view role, const json::Value& spec, const std::string& path) {
                if (role == "Master" && json::int_at(spec, {"replicas"}) != 1)
                  errors.forbidden(path + ".replicas", "must be 1");
              });
  if (!json::find_path(job, {"spec", kMap, "Master"}))
    errors.required("spec.xgbReplicaSpecs[Master]", "must be present");
  return errors.refusal();
}

}  // namespace

extern const Step step_xgboostjobs_validate;
const Step step_xgboostjobs_validate{
    .name = "validator.xgboostjob.training-operator.kubeflow.org",
    .path = "/validate-kubeflow-org-v1-xgboostjob",
    .resources = {&kube::resources::xgboost_jobs},
    .when = Step::When::create_or_update,
    .validate = validate_xgboost_job,
};

}  // namespace hekla::admission
