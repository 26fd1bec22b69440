// validator.clustertrainingruntime.trainer.kubeflow.org: runtimes of the whole cluster, new and
// changed.
#include "admission/step.h"
#include "admission/training_job.h"
#include "admission/training_runtime.h"

namespace hekla::admission {
namespace {

Result<void> validate(const Settings&, const kube::AdmissionRequest& request,
                      const json::Value& runtime) {
  if (request.operation == kube::Operation::create && is_deprecated(runtime))
    request.warnings->push_back(deprecation_warning(
        "ClusterTrainingRuntime", json::string_at(runtime, {"metadata", "name"})));
  FieldErrors errors;
  check_steps(runtime, errors);
  return errors.refusal();
}

bool matches(const kube::Resource& resource, kube::Operation operation,
             std::string_view subresource) {
  return resource == kube::resources::cluster_training_runtimes &&
         is_written(operation, subresource);
}

}  // namespace

extern const Step step_clustertrainingruntimes_validate;
const Step step_clustertrainingruntimes_validate{
    "validator.clustertrainingruntime.trainer.kubeflow.org",
    "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime", matches, nullptr, validate};

}  // namespace hekla::admission
