// validatejobflow.volcano.sh: the flows of a JobFlow must be defined, once each, and must not wait
// in a circle.
//
// Volcano 1.14.1 admits two flows of one name, reads what they wait for from the last one only and
// makes one job of both; it then waits for as many completed jobs as there are flows, so that such
// a JobFlow never succeeds.
#include <algorithm>
#include <map>
#include <set>

#include "admission/step.h"

namespace hekla::admission {
namespace {

Result<void> validate_job_flow(const Settings&, const kube::AdmissionRequest&,
                               const json::Value& object) {
  std::map<std::string, std::set<std::string>> waits;
  const json::Array* flows = json::array_at(object, {"spec", "flows"});
  if (!flows) return {};
  for (const json::Value& flow : *flows) {
    std::string name(json::string_at(flow, {"name"}));
    auto [entry, fresh] = waits.try_emplace(name);
    if (!fresh) return fail(Code::bad_request, "duplicated flow name " + name);
    if (const json::Array* targets = json::array_at(flow, {"dependsOn", "targets"}))
      for (const json::Value& target : *targets)
        if (target.is_string()) entry->second.insert(std::string(json::sv(target.get_string())));
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

}  // namespace

extern const Step step_jobflows_validate;
const Step step_jobflows_validate{
    .name = "validatejobflow.volcano.sh",
    .path = "/jobflows/validate",
    .resources = {&kube::resources::job_flows},
    .when = Step::When::create_or_update,
    .validate = validate_job_flow,
};

}  // namespace hekla::admission
