// validator.trainjob.trainer.kubeflow.org: the runtime is there, and the job asks of it only what
// it has. What cannot change is said by the schema.
#include "admission/step.h"
#include "admission/text.h"
#include "admission/train_job.h"
#include "admission/training_job.h"
#include "admission/training_runtime.h"

namespace hekla::admission {
namespace {

namespace resources = kube::resources;

Result<void> validate_train_job(const Settings&, const kube::AdmissionRequest& request,
                                const json::Value& job) {
  const std::string group = json::text_at(job, {"spec", "runtimeRef", "apiGroup"});
  const std::string kind = json::text_at(job, {"spec", "runtimeRef", "kind"});
  const std::string name = json::text_at(job, {"spec", "runtimeRef", "name"});
  const bool shared = kind == resources::cluster_training_runtimes.kind;
  const kube::Resource& resource =
      shared ? resources::cluster_training_runtimes : resources::training_runtimes;
  FieldErrors errors;
  if (group != resource.group || kind != resource.kind)
    return fail(Code::forbidden,
                "unsupported runtime: " + (group.empty() ? kind : kind + "." + group));
  Result<kube::SharedValue> runtime =
      request.reader->get(resource, {shared ? "" : request.key.ns, name});
  if (!runtime) {
    errors.invalid_raw(shared ? "spec.RuntimeRef" : "spec.runtimeRef", runtime_ref_text(job),
                       kind + "." + group + " " + quoted(name) + " not found: specified " +
                           (shared ? "clusterTrainingRuntime" : "trainingRuntime") +
                           " must be created before the TrainJob is created");
    return errors.refusal();
  }
  if (shared && is_deprecated(**runtime))
    request.warnings->push_back(deprecation_warning("Referenced ClusterTrainingRuntime", name));
  const TrainJobView view{request, job, **runtime};
  for (auto check : {check_initializers, check_runtime_patches, check_torch, check_mpi,
                     check_xgboost, check_flux, check_volcano})
    check(view, errors);
  return errors.refusal();
}

}  // namespace

extern const Step step_trainjobs_validate;
const Step step_trainjobs_validate{
    .name = "validator.trainjob.trainer.kubeflow.org",
    .path = "/validate-trainer-kubeflow-org-v1alpha1-trainjob",
    .resources = {&kube::resources::train_jobs},
    .when = Step::When::create_or_update,
    .validate = validate_train_job,
};

}  // namespace hekla::admission
