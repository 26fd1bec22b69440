// validatejobflow.volcano.sh: the flows of a JobFlow must be defined and must not wait in a circle.
#include <algorithm>
#include <map>
#include <set>

#include "admission/step.h"

namespace hekla::admission {
namespace {

Result<void> validate(const Settings&, const kube::AdmissionRequest&, const json::Value& object) {
  std::map<std::string, std::set<std::string>> waits;
  const json::Array* flows = json::array_at(object, {"spec", "flows"});
  if (!flows) return {};
  for (const json::Value& flow : *flows) {
    std::set<std::string>& on = waits[std::string(json::string_at(flow, {"name"}))];
    if (const json::Array* targets = json::array_at(flow, {"dependsOn", "targets"}))
      for (const json::Value& target : *targets)
        if (target.is_string()) on.insert(std::string(json::sv(target.get_string())));
  }
  for (const auto& [name, on] : waits)
    for (const std::string& target : on)
      if (!waits.contains(target))
        return fail(Code::bad_request, "jobflow Flow is not DAG: vertex is not defined: " + target);
  while (!waits.empty()) {
    auto free = std::find_if(waits.begin(), waits.end(),
                             [](const auto& flow) { return flow.second.empty(); });
    if (free == waits.end()) return fail(Code::bad_request, "jobflow Flow is not DAG");
    std::string name = free->first;
    waits.erase(free);
    for (auto& [other, on] : waits) on.erase(name);
  }
  return {};
}

bool matches(const kube::Resource& resource, kube::Operation operation,
             std::string_view subresource) {
  return resource == kube::resources::job_flows && operation != kube::Operation::remove &&
         subresource.empty();
}

}  // namespace

extern const Step step_jobflows_validate;
const Step step_jobflows_validate{"validatejobflow.volcano.sh", "/jobflows/validate", matches, nullptr, validate};

}  // namespace hekla::admission
