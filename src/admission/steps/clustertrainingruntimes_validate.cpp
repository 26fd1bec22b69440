// validator.clustertrainingruntime.trainer.kubeflow.org: runtimes of the whole cluster, new and
// changed.
#include "admission/step.h"
#include "admission/training_job.h"
#include "admission/training_runtime.h"

namespace hekla::admission {
namespace {

Result<void> validate_cluster_runtime(const Settings&, const kube::AdmissionRequest& request,
                                      const json::Value& runtime) {
  if (request.operation == kube::Operation::create && is_deprecated(runtime))
    request.warnings->push_back(deprecation_warning(
        "ClusterTrainingRuntime", json::string_at(runtime, {"metadata", "name"})));
  FieldErrors errors;
  check_steps(runtime, errors);
  return errors.refusal();
}

}  // namespace

extern const Step step_clustertrainingruntimes_validate;
const Step step_clustertrainingruntimes_validate{
    .name = "validator.clustertrainingruntime.trainer.kubeflow.org",
    .path = "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime",
    .resources = {&kube::resources::cluster_training_runtimes},
    .when = Step::When::create_or_update,
    .validate = validate_cluster_runtime,
};

}  // namespace hekla::admission
