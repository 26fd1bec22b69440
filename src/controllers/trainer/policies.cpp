// Environment by which the nodes of a runtime find each other, as the Trainer 2.3 gives it.
#include <algorithm>

#include "controllers/trainer/plan.h"
#include "framework/pods.h"
#include "model/torchtune.h"

namespace hekla::controllers::trainer {
namespace {

using framework::set_env;

// One process per GPU is what torchrun finds out by itself; of CPUs it must be told.
std::string processes_per_node(Plan& plan) {
  const json::Value* given = json::find_path(plan.job->spec, {"trainer", "numProcPerNode"});
  if (given && given->is_number()) return std::to_string(given->to_number<std::int64_t>());
  if (gpus_per_node(plan) > 0) return "auto";
  return std::to_string(std::max<std::int64_t>(1, cpus_per_node(plan)));
}

void put_world(Plan& plan, json::Object& container) {
  put_env(container, "PET_NNODES", std::to_string(plan.trainer_count()));
  put_env(container, "PET_NPROC_PER_NODE", processes_per_node(plan));
  set_env(container, "PET_NODE_RANK", from_field(kIndexPath));
}

void put_master(Plan& plan, json::Object& container) {
  put_env(container, "PET_MASTER_ADDR", plan.endpoint("node"));
  put_env(container, "PET_MASTER_PORT", std::to_string(kPort));
}

// The recipe and the suffix of its configuration.
std::pair<std::string, std::string> torchtune_recipe(Plan& plan, bool single) {
  const model::TorchtuneTuning tuning =
      model::read_torchtune_args(texts_at(plan.job->spec, {"trainer", "args"}));
  const bool one_node = plan.trainer_count() == 1;
  if (!one_node) return {"full_finetune_distributed", "_full_multinode"};
  const std::string device = single ? "_single_device" : "_distributed";
  const std::string suffix = single ? "_single_device" : "";
  if (tuning.quantized) return {"lora_finetune" + device, "_qlora" + suffix};
  if (tuning.lora) return {"lora_finetune" + device, "_lora" + suffix};
  return {"full_finetune" + device, "_full" + suffix};
}

// `tune run` is completed: where to meet, the recipe, and what the runtime manages.
void complete_torchtune(Plan& plan, const json::Object& container) {
  const std::string processes = processes_per_node(plan);
  const std::int64_t gpus = gpus_per_node(plan);
  const bool several = processes == "auto" ? gpus > 1 : processes != "1";
  if (plan.trainer_count() > 1 || several)
    plan.more_command.push_back("--rdzv_endpoint=" + plan.endpoint("node") + ":" +
                                std::to_string(kPort));
  const auto [recipe, suffix] = torchtune_recipe(plan, processes == "1" || gpus == 1);
  plan.more_command.insert(
      plan.more_command.end(),
      {recipe, "--config",
       model::torchtune_model(json::text_at(plan.job->spec, {"runtimeRef", "name"})) + suffix});
  for (const std::string& word : texts_at(container, {"command"}))
    if (std::ranges::find(model::kTorchtuneManaged, word.substr(0, word.find('='))) !=
        model::kTorchtuneManaged.end())
      plan.more_command.push_back(word);
}

}  // namespace

void apply_torch(Plan& plan, const json::Value& policy) {
  if (json::Object* container = plan.trainer()) {
    put_world(plan, *container);
    if (model::is_torchtune(texts_at(plan.job->spec, {"trainer", "command"})))
      complete_torchtune(plan, *container);
    else
      put_master(plan, *container);
    add_container_port(*container, kPort);
  }
  const json::Array* targets = json::array_at(policy, {"envInjection", "targets"});
  for (std::size_t i = 0; targets && i < targets->size(); ++i) {
    PodSet* pods = plan.by_name(json::string_at((*targets)[i], {"jobName"}));
    if (!pods) continue;
    for (const std::string& name : texts_at((*targets)[i], {"containerNames"})) {
      json::Object* container = plan.container(*pods, name);
      if (!container) container = plan.init_container(*pods, name);
      if (!container) continue;
      put_world(plan, *container);
      put_master(plan, *container);
    }
  }
}

void apply_jax(Plan& plan) {
  json::Object* container = plan.trainer();
  if (!container) return;
  put_env(*container, "JAX_NUM_PROCESSES", std::to_string(plan.trainer_count()));
  set_env(*container, "JAX_PROCESS_ID", from_field(kIndexPath));
  put_env(*container, "JAX_COORDINATOR_ADDRESS",
          plan.endpoint("node") + ":" + std::to_string(kPort));
  add_container_port(*container, kPort);
}

void apply_xgboost(Plan& plan) {
  json::Object* container = plan.trainer();
  if (!container) return;
  const std::int64_t workers =
      plan.trainer_count() * std::max<std::int64_t>(1, gpus_per_node(plan));
  put_env(*container, "DMLC_TRACKER_URI", plan.endpoint("node"));
  put_env(*container, "DMLC_TRACKER_PORT", std::to_string(kPort));
  set_env(*container, "DMLC_TASK_ID", from_field(kIndexPath));
  put_env(*container, "DMLC_NUM_WORKER", std::to_string(workers));
  add_container_port(*container, kPort);
}

Result<void> apply_policy(Plan& plan) {
  if (const json::Value* torch = json::find(plan.policy, "torch")) apply_torch(plan, *torch);
  if (json::find(plan.policy, "jax")) apply_jax(plan);
  if (json::find(plan.policy, "xgboost")) apply_xgboost(plan);
  if (const json::Value* mpi = json::find(plan.policy, "mpi")) return apply_mpi(plan, *mpi);
  return {};
}

}  // namespace hekla::controllers::trainer
