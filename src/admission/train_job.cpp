#include "admission/train_job.h"

#include <algorithm>
#include <set>

#include "admission/text.h"
#include "admission/training_runtime.h"
#include "json/go_text.h"
#include "model/volcano.h"

namespace hekla::admission {
namespace {

constexpr std::string_view kPatches = "spec.runtimePatches";

const json::Array& list_at(const json::Value& value, std::initializer_list<std::string_view> path) {
  static const json::Array none;
  const json::Array* found = json::array_at(value, path);
  return found ? *found : none;
}

const json::Value* policy_of(const TrainJobView& view, std::string_view framework) {
  return json::find_path(view.runtime, {"spec", "mlPolicy", framework});
}

void check_initializer(const TrainJobView& view, std::string_view member, std::string_view name,
                       FieldErrors& errors) {
  if (!json::find_path(view.job, {"spec", "initializer", member})) return;
  const json::Value* job = find_replicated_job(view.runtime, name);
  const json::Value* container = job ? find_container(*job, name) : nullptr;
  const std::string text(name);
  std::string why;
  if (!job)
    why = "must have " + text + " job when trainJob is configured with input " +
          std::string(member) + "Config";
  else if (!container)
    why = "must have container with name - " + text + " in the " + text + " job";
  else if (std::ranges::none_of(list_at(*container, {"volumeMounts"}), [](const json::Value& one) {
             return json::string_at(one, {"name"}) == "initializer";
           }))
    why = "must have volumeMount with name - initializer in container " + text + " of the " + text +
          " job";
  if (!why.empty()) errors.invalid_raw("spec.runtimeRef", runtime_ref_text(view.job), why);
}

void check_patched_job(const TrainJobView& view, const json::Value& patch, FieldErrors& errors) {
  const json::Value& all = *json::find_path(view.job, {"spec", "runtimePatches"});
  const std::string name(json::string_at(patch, {"name"}));
  const json::Value* job = find_replicated_job(view.runtime, name);
  if (!job)
    return errors.invalid(
        kPatches, all,
        "must not have replicated job that doesn't exist in the runtime job template");
  const json::Value* pod = json::find_path(patch, {"template", "spec", "template", "spec"});
  if (!pod) return;
  for (const json::Value& container : list_at(*pod, {"initContainers"}))
    if (!find_container(*job, json::string_at(container, {"name"})))
      errors.invalid(kPatches, all,
                     "must not have initContainer that doesn't exist in the runtime job " + name);
  for (const json::Value& container : list_at(*pod, {"containers"})) {
    const std::string_view of = json::string_at(container, {"name"});
    const bool ours = of == kDatasetInitializer || of == kModelInitializer || of == kNode;
    if (!find_container(*job, of))
      errors.invalid(kPatches, all,
                     "must not have container that doesn't exist in the runtime job " + name);
    else if (ours && !list_at(container, {"env"}).empty())
      errors.invalid(kPatches, all,
                     "must not have envs for the dataset-initializer, model-initializer, node "
                     "containers");
  }
}

void check_patches_still(const TrainJobView& view, FieldErrors& errors) {
  const json::Value* old = view.request.old_object;
  auto patches = [](const json::Value& job) { return list_at(job, {"spec", "runtimePatches"}); };
  if (!old || json::equal(patches(*old), patches(view.job))) return;
  if (!json::bool_at(*old, {"spec", "suspend"}) && !json::bool_at(view.job, {"spec", "suspend"}))
    return errors.forbidden(kPatches,
                            "RuntimePatches can only be modified when the TrainJob is suspended "
                            "before or after the update");
  Result<kube::SharedValue> set =
      view.request.reader->get(kube::resources::job_sets, view.request.key);
  if (!set) return;  // not made yet
  for (const json::Value& job : list_at(**set, {"status", "replicatedJobsStatus"}))
    if (json::int_at(job, {"active"}) > 0)
      errors.forbidden(kPatches,
                       "RuntimePatches cannot be modified when the JobSet's "
                       "ReplicatedJob " +
                           json::text_at(job, {"name"}) + " is still active");
}

void check_reserved(const TrainJobView& view, const std::set<std::string_view>& reserved,
                    FieldErrors& errors) {
  std::set<std::string> taken;
  for (const json::Value& one : list_at(view.job, {"spec", "trainer", "env"}))
    if (std::string name = json::text_at(one, {"name"}); reserved.contains(name))
      taken.insert(std::move(name));
  if (taken.empty()) return;
  errors.invalid("spec.trainer.env", *json::find_path(view.job, {"spec", "trainer", "env"}),
                 "must not have reserved envs, invalid envs configured: " +
                     bracketed({taken.begin(), taken.end()}));
}

}  // namespace

std::string runtime_ref_text(const json::Value& job) {
  std::string text;
  for (std::string_view member : {"name", "apiGroup", "kind"})
    if (const json::Value* value = json::find_path(job, {"spec", "runtimeRef", member}))
      text += (text.empty() ? "\"" : ",\"") + std::string(member) + "\":" + json::go_text(*value);
  return "{" + text + "}";
}

void check_initializers(const TrainJobView& view, FieldErrors& errors) {
  check_initializer(view, "dataset", kDatasetInitializer, errors);
  check_initializer(view, "model", kModelInitializer, errors);
}

// Upstream looks at the runtime with the patches already laid over it, and so finds there whatever
// a patch names; here the runtime itself must have it.
void check_runtime_patches(const TrainJobView& view, FieldErrors& errors) {
  check_patches_still(view, errors);
  for (const json::Value& patch : list_at(view.job, {"spec", "runtimePatches"})) {
    check_domain_prefixed_path("spec.runtimePatches.manager", json::string_at(patch, {"manager"}),
                               errors);
    for (const json::Value& job :
         list_at(patch, {"trainingRuntimeSpec", "template", "spec", "replicatedJobs"}))
      check_patched_job(view, job, errors);
  }
}

void check_torch(const TrainJobView& view, FieldErrors& errors) {
  const json::Value* torch = policy_of(view, "torch");
  if (!torch) return;
  for (const json::Value& target : list_at(*torch, {"envInjection", "targets"})) {
    const std::string name = json::text_at(target, {"jobName"});
    const json::Value* job = find_replicated_job(view.runtime, name);
    for (const json::Value& one : list_at(target, {"containerNames"})) {
      const std::string container(json::sv(one.get_string()));
      if (job && find_container(*job, container)) continue;
      const json::Value names = list_at(target, {"containerNames"});
      errors.invalid_raw(
          "spec.runtimeRef",
          "{\"jobName\":" + quoted(name) + ",\"containerNames\":" + json::go_text(names) + "}",
          "envInjection target podSet " + quoted(name) + " container " + quoted(container) +
              " not found in runtime template");
    }
  }
  check_reserved(
      view,
      {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"},
      errors);
  check_torchtune(view, errors);
}

void check_mpi(const TrainJobView& view, FieldErrors& errors) {
  const json::Value* mpi = policy_of(view, "mpi");
  if (!mpi) return;
  const std::int64_t nodes = json::int_at(view.job, {"spec", "trainer", "numNodes"}, 1);
  const bool complete =
      find_replicated_job(view.runtime, kLauncher) && find_replicated_job(view.runtime, kNode);
  if (nodes >= 2 && json::bool_at(*mpi, {"runLauncherAsNode"}) && !complete)
    errors.invalid("spec.trainer.numNodes", nodes,
                   "must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not "
                   "have either launcher and node");
  check_reserved(view,
                 {"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_args",
                  "OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_orte_set_default_slots"},
                 errors);
}

void check_xgboost(const TrainJobView& view, FieldErrors& errors) {
  const std::set<std::string_view> reserved{"DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID",
                                            "DMLC_NUM_WORKER"};
  if (!policy_of(view, "xgboost")) return;
  const json::Array& env = list_at(view.job, {"spec", "trainer", "env"});
  for (std::size_t i = 0; i < env.size(); ++i)
    if (const std::string name = json::text_at(env[i], {"name"}); reserved.contains(name))
      errors.forbidden("spec.trainer.env[" + std::to_string(i) + "]",
                       name + " is reserved for the XGBoost runtime");
}

void check_flux(const TrainJobView& view, FieldErrors& errors) {
  const json::Value* flux = policy_of(view, "flux");
  if (!flux) return;
  const std::int64_t processes = json::int_at(view.job, {"spec", "trainer", "numProcPerNode"},
                                              json::int_at(*flux, {"numProcPerNode"}, 1));
  if (processes < 1)
    errors.invalid("spec.trainer.numProcPerNode", processes,
                   "must be greater than or equal to 1 for Flux TrainJob");
  const json::Value* node = find_replicated_job(view.runtime, kNode);
  if (node && find_container(*node, "flux-installer"))
    errors.invalid_text("spec.trainer.initContainers", "flux-installer",
                        "InitContainer 'flux-installer' is reserved");
}

void check_volcano(const TrainJobView& view, FieldErrors& errors) {
  if (!json::find_path(view.runtime, {"spec", "podGroupPolicy", "volcano"})) return;
  const std::string& key = model::keys::queue_name;
  const json::Value* queue =
      json::find_path(view.runtime, {"spec", "template", "metadata", "annotations", key});
  for (const json::Value& patch : list_at(view.job, {"spec", "runtimePatches"}))
    if (const json::Value* own = json::find_path(
            patch, {"trainingRuntimeSpec", "template", "metadata", "annotations", key}))
      queue = own;
  if (queue && json::equal(*queue, ""))
    errors.invalid("spec.annotations[" + key + "]", *queue, "Volcano queue name must not be empty");
  for (const json::Value& job : replicated_jobs_of(view.runtime)) {
    const std::string name =
        json::text_at(job, {"template", "spec", "template", "spec", "priorityClassName"});
    if (name.empty() || name == "system-cluster-critical" || name == "system-node-critical")
      continue;
    if (!view.request.reader->get(kube::resources::priority_classes, {"", name}))
      errors.invalid_text("spec.templateSpec.priorityClassName", name,
                          "PriorityClass " + quoted(name) +
                              " doesn't exist: PriorityClass.scheduling.k8s.io " + quoted(name) +
                              " not found");
  }
}

}  // namespace hekla::admission
