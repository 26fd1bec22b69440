#include "admission/training_runtime.h"

#include <algorithm>

namespace hekla::admission {
namespace {

// The container of a step; empty for anything else.
std::string_view container_of_step(std::string_view step) {
  if (step == "trainer") return kNode;
  return step == kDatasetInitializer || step == kModelInitializer ? step : std::string_view();
}

const json::Value* named(const json::Array* list, std::string_view name) {
  if (!list) return nullptr;
  auto found = std::ranges::find_if(
      *list, [&](const json::Value& one) { return json::string_at(one, {"name"}) == name; });
  return found == list->end() ? nullptr : &*found;
}

}  // namespace

const json::Array& replicated_jobs_of(const json::Value& runtime) {
  static const json::Array none;
  const json::Array* jobs = json::array_at(runtime, {"spec", "template", "spec", "replicatedJobs"});
  return jobs ? *jobs : none;
}

const json::Value* find_replicated_job(const json::Value& runtime, std::string_view name) {
  return named(&replicated_jobs_of(runtime), name);
}

const json::Value* find_container(const json::Value& job, std::string_view name) {
  const json::Value* found =
      named(json::array_at(job, {"template", "spec", "template", "spec", "containers"}), name);
  if (found) return found;
  return named(json::array_at(job, {"template", "spec", "template", "spec", "initContainers"}),
               name);
}

void check_steps(const json::Value& runtime, FieldErrors& errors) {
  const json::Array& jobs = replicated_jobs_of(runtime);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string_view step = json::string_at(
        jobs[i], {"template", "metadata", "labels", "trainer.kubeflow.org/trainjob-ancestor-step"});
    const std::string_view container = container_of_step(step);
    if (container.empty()) continue;
    const std::string path = "spec.template.spec.replicatedJobs[" + std::to_string(i) + "]";
    if (const std::int64_t replicas = json::int_at(jobs[i], {"replicas"}, 1); replicas != 1)
      errors.invalid(path + ".replicas", replicas, "always must be 1");
    const json::Value* containers =
        json::find_path(jobs[i], {"template", "spec", "template", "spec", "containers"});
    if (containers && containers->is_array() && named(&containers->get_array(), container))
      continue;
    errors.invalid(path + ".template.spec.template.spec.containers",
                   containers ? *containers : json::Value(),
                   "must contain the required container for the ancestor: " + std::string(step));
  }
}

bool is_deprecated(const json::Value& runtime) {
  return json::string_at(runtime, {"metadata", "labels", "trainer.kubeflow.org/support"}) ==
         "deprecated";
}

std::string deprecation_warning(std::string_view what, std::string_view name) {
  return std::string(what) + " \"" + std::string(name) +
         "\" is deprecated and will be removed in a future release of Kubeflow Trainer. See "
         "runtime deprecation policy: "
         "https://trainer.kubeflow.org/en/latest/operator-guides/"
         "runtime.html#runtime-deprecation-policy";
}

}  // namespace hekla::admission
