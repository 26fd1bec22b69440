#include "admission/training_job.h"

#include <algorithm>

#include "model/names.h"

namespace hekla::admission {
namespace {

const json::Value kNull;

// Go's pointer to a text: null without one.
const json::Value& manager_of(const json::Value& job) {
  const json::Value* manager = json::find_path(job, {"spec", "runPolicy", "managedBy"});
  return manager ? *manager : kNull;
}

void check_containers(const json::Value& role, const RoleRules& rules, const std::string& path,
                      FieldErrors& errors) {
  const json::Array* containers = json::array_at(role, {"template", "spec", "containers"});
  bool named = false;
  if (!containers || containers->empty()) errors.required(path, "must be specified");
  for (std::size_t i = 0; containers && i < containers->size(); ++i) {
    if (json::string_at((*containers)[i], {"image"}).empty())
      errors.required(path + "[" + std::to_string(i) + "].image", "must be required");
    if (json::string_at((*containers)[i], {"name"}) == rules.container) named = true;
  }
  if (named || rules.container.empty()) return;
  errors.required(
      path, "must have at least one container with name " + std::string(rules.shown_container));
}

}  // namespace

void check_job_name(const json::Value& job, FieldErrors& errors) {
  const std::string_view name = json::string_at(job, {"metadata", "name"});
  std::string why;
  for (const std::string& one : model::dns1035_label_errors(name))
    why += (why.empty() ? "" : ",") + one;
  if (!why.empty()) errors.invalid_text("metadata.name", name, "should match: " + why);
}

void check_managed_by(const json::Value& job, const json::Value* old, FieldErrors& errors) {
  constexpr std::string_view kPath = "spec.runPolicy.managedBy";
  const std::vector<std::string_view> managers{"kubeflow.org/training-operator",
                                               "kueue.x-k8s.io/multikueue"};
  const json::Value& manager = manager_of(job);
  if (old && !json::equal(manager, manager_of(*old)))
    errors.invalid(kPath, manager, "field is immutable");
  if (!manager.is_string()) return;
  const std::string_view name = json::sv(manager.get_string());
  if (std::ranges::find(managers, name) == managers.end())
    errors.unsupported(kPath, name, managers);
}

void check_roles(const json::Value& job, const RoleRules& rules, FieldErrors& errors,
                 const std::function<void(std::string_view role, const json::Value& spec,
                                          const std::string& path)>& more) {
  const std::string map = "spec." + std::string(rules.map);
  const json::Object* roles = json::object_at(job, {"spec", rules.map});
  if (!roles) return errors.required(map, "must be required");
  std::vector<std::string> names;
  for (const auto& role : *roles) names.emplace_back(role.key());
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const std::string path = map + "[" + name + "]";
    const json::Value& role = roles->at(name);
    if (!rules.roles.empty() && std::ranges::find(rules.roles, name) == rules.roles.end())
      errors.unsupported(path, name, rules.roles);
    check_containers(role, rules, path + ".template.spec.containers", errors);
    if (more) more(name, role, path);
  }
}

}  // namespace hekla::admission
