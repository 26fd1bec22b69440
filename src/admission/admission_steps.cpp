#include <algorithm>

#include "admission/step.h"

namespace hekla::admission {

bool Settings::names_our_scheduler(const json::Value& pod) const {
  std::string_view name = json::string_at(pod, {"spec", "schedulerName"});
  return std::find(scheduler_names.begin(), scheduler_names.end(), name) != scheduler_names.end();
}

bool is_left_out(const json::Value& object, std::initializer_list<std::string_view> path) {
  const json::Value* found = json::find_path(object, path);
  return !found || found->is_null() || (found->is_string() && found->get_string().empty());
}

bool Step::matches(const kube::Resource& asked, kube::Operation operation,
                   std::string_view subresource) const {
  const bool about_it = std::ranges::any_of(resources, [&](const kube::Resource* one) {
    if (one == nullptr) return false;
    return every_version ? asked.group == one->group && asked.plural == one->plural : asked == *one;
  });
  if (!about_it || !subresource.empty()) return false;
  switch (when) {
    case When::create:
      return operation == kube::Operation::create;
    case When::create_or_update:
      return operation == kube::Operation::create || operation == kube::Operation::update;
    case When::any:
      return true;
  }
  return false;
}

std::vector<kube::AdmissionStep> admission_steps(const Settings& settings) {
  std::vector<kube::AdmissionStep> steps;
  auto shared = std::make_shared<const Settings>(settings);
  for (const Step* step : all_steps()) {
    kube::AdmissionStep converted{step->name, std::bind_front(&Step::matches, step), {}, {}};
    if (step->mutate)
      converted.mutate = [step, shared](const kube::AdmissionRequest& request,
                                        json::Value& object) {
        return step->mutate(*shared, request, object);
      };
    if (step->validate)
      converted.validate = [step, shared](const kube::AdmissionRequest& request,
                                          const json::Value& object) {
        return step->validate(*shared, request, object);
      };
    steps.push_back(std::move(converted));
  }
  return steps;
}

}  // namespace hekla::admission
