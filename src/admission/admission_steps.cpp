#include "admission/step.h"

namespace hekla::admission {

std::vector<kube::AdmissionStep> admission_steps() {
  std::vector<kube::AdmissionStep> steps;
  for (const Step* step : all_steps()) {
    kube::AdmissionStep converted{step->name, step->matches, {}, {}};
    if (step->mutate) converted.mutate = step->mutate;
    if (step->validate) converted.validate = step->validate;
    steps.push_back(std::move(converted));
  }
  return steps;
}

}  // namespace hekla::admission
