// validator.mpijob.hekla.io: what the MPI Operator (0.8) finds wrong with a v2beta1 job when it is
// about to run it, after filling in its defaults. There the job stays as it is, with an event;
// here it is refused with that event's text. Jobs of v1 are judged by their controller.
#include <algorithm>

#include "admission/conversion.h"
#include "admission/step.h"
#include "admission/training_job.h"
#include "model/names.h"

namespace hekla::admission {
namespace {

constexpr std::string_view kMap = "mpiReplicaSpecs";

void check_name(const json::Value& job, FieldErrors& errors) {
  const std::string name(json::string_at(job, {"metadata", "name"}));
  const std::int64_t workers =
      std::max<std::int64_t>(json::int_at(job, {"spec", kMap, "Worker", "replicas"}), 1);
  const std::string host = name + "-worker-" + std::to_string(workers - 1);
  std::string why;
  for (const std::string& one : model::dns1035_label_errors(host))
    why += (why.empty() ? "" : ", ") + one;
  if (!why.empty())
    errors.invalid_text(
        "metadata.name", name,
        "will not able to create pod and service with invalid DNS label \"" + host + "\": " + why);
}

void check_role(const json::Value& role, const std::string& path, FieldErrors& errors) {
  const json::Value* policy = json::find(role, "restartPolicy");
  const std::string_view text = policy ? json::string_at(role, {"restartPolicy"}) : "";
  if (!text.empty() && text != "Never" && text != "OnFailure")
    errors.unsupported(path + ".restartPolicy", text, {"Never", "OnFailure"});
  const json::Array* containers = json::array_at(role, {"template", "spec", "containers"});
  if (!containers || containers->empty())
    errors.required(path + ".template.spec.containers", "must define at least one container");
}

void check_mpi_roles(const json::Value& job, FieldErrors& errors) {
  const std::string map = "spec." + std::string(kMap);
  if (!json::object_at(job, {"spec", kMap})) return errors.required(map, "must have replica specs");
  if (const json::Value* launcher = json::find_path(job, {"spec", kMap, "Launcher"})) {
    check_role(*launcher, map + "[Launcher]", errors);
    if (const std::int64_t count = json::int_at(*launcher, {"replicas"}, 1); count != 1)
      errors.invalid(map + "[Launcher].replicas", count, "must be 1");
  } else {
    errors.required(map + "[Launcher]", "must have Launcher replica spec");
  }
  if (const json::Value* worker = json::find_path(job, {"spec", kMap, "Worker"})) {
    check_role(*worker, map + "[Worker]", errors);
    if (const std::int64_t count = json::int_at(*worker, {"replicas"}); count <= 0)
      errors.invalid(map + "[Worker].replicas", count, "must be greater than or equal to 1");
  }
}

void check_not_negative(const json::Value& job, std::initializer_list<std::string_view> path,
                        FieldErrors& errors) {
  const std::int64_t value = json::int_at(job, path);
  if (value >= 0) return;
  std::string text;
  for (std::string_view member : path) text += (text.empty() ? "" : ".") + std::string(member);
  errors.invalid(text, value, "must be greater than or equal to 0");
}

void check_choice(const json::Value& job, std::string_view member,
                  const std::vector<std::string_view>& choices, FieldErrors& errors) {
  const json::Value* value = json::find_path(job, {"spec", "runPolicy", member});
  if (!value || !value->is_string()) return;
  const std::string_view text = json::sv(value->get_string());
  if (std::ranges::find(choices, text) == choices.end())
    errors.unsupported("spec.runPolicy." + std::string(member), text, choices);
}

Result<void> validate_mpi_job(const Settings&, const kube::AdmissionRequest&,
                              const json::Value& object) {
  if (json::string_at(object, {"metadata", "annotations", kCreatedVersion}) != "v2beta1") return {};
  json::Value job = object;
  convert_mpi_job(job, "v2beta1");
  FieldErrors errors;
  check_name(job, errors);
  check_mpi_roles(job, errors);
  check_not_negative(job, {"spec", "slotsPerWorker"}, errors);
  check_choice(job, "cleanPodPolicy", {"All", "None", "Running"}, errors);
  for (std::string_view limit :
       {"ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"})
    check_not_negative(job, {"spec", "runPolicy", limit}, errors);
  check_choice(job, "managedBy", {"kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue"},
               errors);
  return errors.refusal("Found validation errors: ");
}

}  // namespace

extern const Step step_mpijobs_validate;
const Step step_mpijobs_validate{
    .name = "validator.mpijob.hekla.io",
    .path = "/mpijobs/validate",
    .resources = {&kube::resources::mpi_jobs},
    .every_version = true,
    .when = Step::When::create_or_update,
    .validate = validate_mpi_job,
};

}  // namespace hekla::admission
