// validator.trainingruntime.trainer.kubeflow.org: new runtimes of a namespace. What becomes of them
// later is nobody's business, as upstream.
#include "admission/step.h"
#include "admission/training_runtime.h"

namespace hekla::admission {
namespace {

Result<void> validate(const Settings&, const kube::AdmissionRequest&, const json::Value& runtime) {
  FieldErrors errors;
  check_steps(runtime, errors);
  return errors.refusal();
}

bool matches(const kube::Resource& resource, kube::Operation operation,
             std::string_view subresource) {
  return resource == kube::resources::training_runtimes && operation == kube::Operation::create &&
         subresource.empty();
}

}  // namespace

extern const Step step_trainingruntimes_validate;
const Step step_trainingruntimes_validate{"validator.trainingruntime.trainer.kubeflow.org",
                                          "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime",
                                          matches, nullptr, validate};

}  // namespace hekla::admission
