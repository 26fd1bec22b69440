#include "admission/pod_template.h"

#include "model/quantity.h"

namespace hekla::admission {
namespace {

// Quantities that cannot be read stay: the API server says what is wrong with them.
void normalise_quantities(json::Value& container) {
  for (std::string_view list : {"limits", "requests"}) {
    if (!json::object_at(container, {"resources", list})) continue;
    for (auto& member : json::at_path(container, {"resources", list}).get_object())
      if (Result<model::Quantity> quantity = model::Quantity::from_json(member.value()))
        member.value() = quantity->text();
  }
}

}  // namespace

void normalise_template(json::Value& pod_template) {
  if (!pod_template.is_object()) return;
  json::Value& metadata = pod_template.get_object()["metadata"];
  if (metadata.is_null()) metadata = json::Object();
  for (std::string_view list : {"initContainers", "containers"}) {
    if (!json::array_at(pod_template, {"spec", list})) continue;
    for (json::Value& container : json::at_path(pod_template, {"spec", list}).get_array())
      normalise_quantities(container);
  }
}

std::string topology_error(const model::TaskSpec& task, std::size_t index) {
  if (task.topologyPolicy.empty() || task.topologyPolicy == "none") return {};
  std::size_t at = 0;
  for (std::string_view list : {"containers", "initContainers"}) {
    const json::Array* containers = json::array_at(task.podTemplate, {"spec", list});
    if (!containers) continue;
    for (const json::Value& container : *containers) {
      const json::Value* cpu = json::find_path(container, {"resources", "requests", "cpu"});
      if (!cpu) cpu = json::find_path(container, {"resources", "limits", "cpu"});
      Result<model::Quantity> asked =
          cpu ? model::Quantity::from_json(*cpu) : Result<model::Quantity>(model::Quantity{});
      if (!asked || asked->is_zero() || asked->value() * 1000 != asked->milli_value())
        return "the cpu request isn't  an integer in spec.task[" + std::to_string(index) +
               "] container[" + std::to_string(at) + "].";
      ++at;
    }
  }
  return {};
}

}  // namespace hekla::admission
