// validator.tfjob.training-operator.kubeflow.org: a TFJob of any version, judged as v1. Roles of
// any name and in any case are let in, as the Training Operator does; which of them mean something
// is the controller's business.
//
// Jobs made in an older version may have a TensorBoard beside them. Nothing is asked of its
// container's name.
#include <algorithm>

#include "admission/conversion.h"
#include "admission/step.h"
#include "admission/training_job.h"

namespace hekla::admission {
namespace {

namespace resources = kube::resources;
constexpr std::string_view kMap = "tfReplicaSpecs";

bool is_tensor_board(std::string_view role) {
  std::string lower(role);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return lower == "tensorboard";
}

// v1alpha1's list can name a role twice; no other version can.
void check_list(const json::Value& object, FieldErrors& errors) {
  const json::Array* list = json::array_at(object, {"spec", "replicaSpecs"});
  std::vector<std::string_view> seen;
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const std::string_view role = json::string_at((*list)[i], {"tfReplicaType"});
    if (std::ranges::find(seen, role) != seen.end())
      errors.duplicate("spec.replicaSpecs[" + std::to_string(i) + "].tfReplicaType", role);
    seen.push_back(role);
  }
}

// Takes the TensorBoards out of the job.
json::Value take_boards(json::Value& job) {
  json::Object boards;
  if (json::object_at(job, {"spec", kMap}))
    json::erase_if(json::at_path(job, {"spec", kMap}).get_object(), [&](auto& role) {
      if (is_tensor_board(role.key())) boards[role.key()] = role.value();
      return is_tensor_board(role.key());
    });
  return json::Object{{"spec", json::Object{{kMap, std::move(boards)}}}};
}

Result<void> validate_tf_job(const Settings&, const kube::AdmissionRequest& request,
                             const json::Value& object) {
  FieldErrors errors;
  check_list(object, errors);
  json::Value job = object, old = request.old_object ? *request.old_object : json::Value();
  convert_tf_job(job, kHubVersion);
  convert_tf_job(old, kHubVersion);
  check_job_name(job, errors);
  check_managed_by(job, request.old_object ? &old : nullptr, errors);
  if (!json::string_at(job, {"metadata", "annotations", kCreatedVersion}).empty())
    check_roles(take_boards(job), {kMap, ""}, errors);
  int chiefs = 0;
  check_roles(job, {kMap, "tensorflow"}, errors,
              [&](std::string_view role, const json::Value&, const std::string&) {
                if (role == "Chief" || role == "Master") ++chiefs;
              });
  if (chiefs > 1)
    errors.forbidden("spec.tfReplicaSpecs", "must not have more than 1 Chief or Master role");
  return errors.refusal();
}

}  // namespace

extern const Step step_tfjobs_validate;
const Step step_tfjobs_validate{
    .name = "validator.tfjob.training-operator.kubeflow.org",
    .path = "/validate-kubeflow-org-v1-tfjob",
    .resources = {&kube::resources::tf_jobs},
    .every_version = true,
    .when = Step::When::create_or_update,
    .validate = validate_tf_job,
};

}  // namespace hekla::admission
