#include "admission/pod_template.h"

#include <set>

#include "admission/text.h"
#include "model/names.h"
#include "model/quantity.h"

namespace hekla::admission {
namespace {

constexpr std::string_view kLists[] = {"initContainers", "containers"};

void check_resources(const json::Value& container, const std::string& path,
                     std::vector<std::string>& errors) {
  const json::Object* limits = json::object_at(container, {"resources", "limits"});
  for (std::string_view list : {"limits", "requests"}) {
    const json::Object* amounts = json::object_at(container, {"resources", list});
    if (!amounts) continue;
    std::string field = path + ".resources." + std::string(list);
    for (const auto& member : *amounts) {
      std::string name(member.key()), entry = field + "[" + name + "]";
      Result<model::Quantity> amount = model::Quantity::from_json(member.value());
      if (!amount) {
        errors.push_back(entry + ": Invalid value: " + amount.error().message);
        continue;
      }
      if (amount->nanos < 0)
        errors.push_back(
            invalid_field(entry, amount->text(), "must be greater than or equal to 0"));
      const json::Value* ceiling = list == "requests" && limits ? json::find(*limits, name) : nullptr;
      if (!ceiling) continue;
      Result<model::Quantity> limit = model::Quantity::from_json(*ceiling);
      if (limit && *amount > *limit)
        errors.push_back(
            invalid_field(field, amount->text(),
                          "must be less than or equal to " + name + " limit of " + limit->text()));
    }
  }
}

void check_container(const json::Value& container, const std::string& path,
                     const std::set<std::string>& volumes, std::set<std::string>& names,
                     std::vector<std::string>& errors) {
  std::string name(json::string_at(container, {"name"}));
  if (name.empty()) {
    errors.push_back(path + ".name: Required value");
  } else {
    for (const std::string& error : model::dns1123_label_errors(name))
      errors.push_back(invalid_field(path + ".name", name, error));
    if (!names.insert(name).second)
      errors.push_back(path + ".name: Duplicate value: " + quoted(name));
  }
  if (json::string_at(container, {"image"}).empty())
    errors.push_back(path + ".image: Required value");
  if (const json::Array* mounts = json::array_at(container, {"volumeMounts"}))
    for (std::size_t i = 0; i < mounts->size(); ++i) {
      std::string mount = path + ".volumeMounts[" + std::to_string(i) + "]";
      std::string volume(json::string_at((*mounts)[i], {"name"}));
      if (volume.empty())
        errors.push_back(mount + ".name: Required value");
      else if (!volumes.contains(volume))
        errors.push_back(mount + ".name: Not found: " + quoted(volume));
      if (json::string_at((*mounts)[i], {"mountPath"}).empty())
        errors.push_back(mount + ".mountPath: Required value");
    }
  check_resources(container, path, errors);
}

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

std::vector<std::string> pod_template_errors(const json::Value& pod_template) {
  std::vector<std::string> errors;
  std::set<std::string> volumes, names;
  if (const json::Array* list = json::array_at(pod_template, {"spec", "volumes"}))
    for (const json::Value& volume : *list)
      volumes.insert(std::string(json::string_at(volume, {"name"})));
  const json::Array* containers = json::array_at(pod_template, {"spec", "containers"});
  if (!containers || containers->empty())
    errors.push_back("template.spec.containers: Required value");
  for (std::string_view list : kLists)
    if (const json::Array* array = json::array_at(pod_template, {"spec", list}))
      for (std::size_t i = 0; i < array->size(); ++i)
        check_container((*array)[i],
                        "template.spec." + std::string(list) + "[" + std::to_string(i) + "]",
                        volumes, names, errors);
  std::string_view restart = json::string_at(pod_template, {"spec", "restartPolicy"});
  if (!restart.empty() && restart != "Always" && restart != "OnFailure" && restart != "Never")
    errors.push_back("template.spec.restartPolicy: Unsupported value: " + quoted(restart) +
                     ": supported values: \"Always\", \"OnFailure\", \"Never\"");
  return errors;
}

void normalise_template(json::Value& pod_template) {
  if (pod_template.is_null()) pod_template = json::Object();
  if (!pod_template.is_object()) return;
  json::Value& metadata = pod_template.get_object()["metadata"];
  if (metadata.is_null()) metadata = json::Object();
  for (std::string_view list : kLists) {
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
