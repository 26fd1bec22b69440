// validator.trainingruntime.trainer.kubeflow.org: new runtimes of a namespace. What becomes of them
// later is nobody's business, as upstream.
#include "admission/step.h"
#include "admission/training_runtime.h"

namespace hekla::admission {
namespace {

Result<void> validate_runtime(const Settings&, const kube::AdmissionRequest&,
                              const json::Value& runtime) {
  FieldErrors errors;
  check_steps(runtime, errors);
  return errors.refusal();
}

}  // namespace

extern const Step step_trainingruntimes_validate;
const Step step_trainingruntimes_validate{
    .name = "validator.trainingruntime.trainer.kubeflow.org",
    .path = "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime",
    .resources = {&kube::resources::training_runtimes},
    .when = Step::When::create,
    .validate = validate_runtime,
};

}  // namespace hekla::admission
