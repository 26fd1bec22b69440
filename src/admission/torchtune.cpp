// TrainJobs that run torchtune: `tune run` in a runtime named after its model.
#include <algorithm>
#include <array>

#include "admission/train_job.h"
#include "admission/training_runtime.h"
#include "json/go_text.h"
#include "model/quantity.h"
#include "model/torchtune.h"

namespace hekla::admission {
namespace {

constexpr std::array<std::string_view, 4> kModels{"llama3_2/1B", "llama3_2/3B", "llama3_3/70B",
                                                  "qwen2_5/1.5B"};

std::vector<std::string> texts_at(const json::Value& job, std::string_view member) {
  std::vector<std::string> texts;
  if (const json::Array* list = json::array_at(job, {"spec", "trainer", member}))
    for (const json::Value& one : *list) texts.emplace_back(json::sv(one.get_string()));
  return texts;
}

std::string in_case(std::string text, int (*change)(int)) {
  for (char& c : text) c = static_cast<char>(change(static_cast<unsigned char>(c)));
  return text;
}

std::int64_t gpus_in(const json::Value* resources) {
  for (std::string_view list : {"requests", "limits"}) {
    const json::Object* amounts = resources ? json::object_at(*resources, {list}) : nullptr;
    if (!amounts) continue;
    for (const auto& amount : *amounts)
      if (in_case(std::string(amount.key()), std::tolower).find("gpu") != std::string::npos)
        if (Result<model::Quantity> count = model::Quantity::from_json(amount.value());
            count && count->value() > 0)
          return count->value();
  }
  return 0;
}

const json::Value* resources_of(const TrainJobView& view) {
  if (const json::Value* own = json::find_path(view.job, {"spec", "trainer", "resourcesPerNode"}))
    return own;
  const json::Value* node = find_replicated_job(view.runtime, kNode);
  const json::Value* container = node ? find_container(*node, kNode) : nullptr;
  return container ? json::find(*container, "resources") : nullptr;
}

void check_quantized(const TrainJobView& view, const std::string& model, FieldErrors& errors) {
  if (model == "qwen2_5/1.5B")
    errors.invalid_text("spec.runtimeRef.name",
                        json::string_at(view.job, {"spec", "runtimeRef", "name"}),
                        "QLoRA is not supported for " + model + " model");
  const json::Value* processes = json::find_path(view.job, {"spec", "trainer", "numProcPerNode"});
  const bool single = (processes && json::equal(*processes, 1)) || gpus_in(resources_of(view)) == 1;
  if (single || (model != "llama3_2/1B" && model != "llama3_2/3B")) return;
  errors.invalid("spec.trainer.numProcPerNode", processes ? *processes : json::Value("auto"),
                 "must be auto or 1 for " + model + " model when using QLoRA");
  const json::Value* resources = json::find_path(view.job, {"spec", "trainer", "resourcesPerNode"});
  errors.invalid("spec.trainer.resourcesPerNode", resources ? *resources : json::Value(),
                 "must have gpu resource with value 1 for " + model + " model when using QLoRA");
}

}  // namespace

void check_torchtune(const TrainJobView& view, FieldErrors& errors) {
  if (!model::is_torchtune(texts_at(view.job, "command"))) return;
  const std::string runtime = json::text_at(view.job, {"spec", "runtimeRef", "name"});
  const std::string model = model::torchtune_model(runtime);
  if (std::ranges::find(kModels, model) == kModels.end())
    errors.invalid_text(
        "spec.runtimeRef.name", runtime,
        "must have a supported pretrained model, invalid model configured: " + model);
  const std::int64_t nodes = json::int_at(view.job, {"spec", "trainer", "numNodes"}, 1);
  if (nodes > 1 && model != "llama3_3/70B")
    errors.invalid("spec.trainer.numNodes", nodes, "must be 1 for " + model + " model");
  const std::vector<std::string> args = texts_at(view.job, "args");
  const auto [lora, quantized] = model::read_torchtune_args(args);
  if (nodes == 1 && quantized) check_quantized(view, model, errors);
  if (nodes > 1 && (lora || quantized))
    errors.invalid("spec.trainer.numNodes", nodes,
                   "LoRA fine-tuning is not supported for multi-node training in TorchTune");
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string key = args[i].substr(0, args[i].find('='));
    if (std::ranges::find(model::kTorchtuneManaged, key) != model::kTorchtuneManaged.end())
      errors.invalid_text("spec.trainer.args[" + std::to_string(i) + "]", args[i],
                          "must not set immutable config " + json::go_quote(key) +
                              " in trainer args; it is managed by the runtime");
  }
}

}  // namespace hekla::admission
