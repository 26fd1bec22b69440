// defaulter.trainjob.trainer.kubeflow.org: when each runtime patch was written. A patch that says
// what it said before keeps its time.
#include "admission/step.h"
#include "admission/training_job.h"
#include "model/time.h"

namespace hekla::admission {
namespace {

const json::Value* patch_of(const json::Value* job, std::string_view manager) {
  const json::Array* patches = job ? json::array_at(*job, {"spec", "runtimePatches"}) : nullptr;
  if (!patches) return nullptr;
  for (const json::Value& patch : *patches)
    if (json::string_at(patch, {"manager"}) == manager) return &patch;
  return nullptr;
}

bool says_the_same(json::Value a, json::Value b) {
  for (json::Value* one : {&a, &b})
    if (one->is_object()) one->get_object().erase("time");
  return json::equal(a, b);
}

Result<void> mutate_train_job(const Settings&, const kube::AdmissionRequest& request,
                              json::Value& job) {
  if (!json::array_at(job, {"spec", "runtimePatches"})) return {};
  for (json::Value& patch : json::at_path(job, {"spec", "runtimePatches"}).get_array()) {
    if (!patch.is_object()) continue;
    const json::Value* old = patch_of(request.old_object, json::string_at(patch, {"manager"}));
    const json::Value* then = old ? json::find(*old, "time") : nullptr;
    json::Value& time = patch.get_object()["time"];
    if (old && says_the_same(*old, patch))
      time = then ? *then : json::Value();
    else if (old || time.is_null())
      time = model::format_rfc3339(request.now);
    if (time.is_null()) patch.get_object().erase("time");
  }
  return {};
}

}  // namespace

extern const Step step_trainjobs_mutate;
const Step step_trainjobs_mutate{
    .name = "defaulter.trainjob.trainer.kubeflow.org",
    .path = "/mutate-trainer-kubeflow-org-v1alpha1-trainjob",
    .resources = {&kube::resources::train_jobs},
    .when = Step::When::create_or_update,
    .mutate = mutate_train_job,
};

}  // namespace hekla::admission
