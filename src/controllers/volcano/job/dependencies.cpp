#include "controllers/volcano/job/dependencies.h"

#include <algorithm>

#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/status.h"

namespace hekla::controllers {
namespace {

bool is_ready(const model::Pod& pod) {
  if (pod.metadata.deletionTimestamp) return false;
  if (pod.status.phase == "Succeeded") return true;
  if (pod.status.phase != "Running") return false;
  return std::all_of(pod.status.containerStatuses.begin(), pod.status.containerStatuses.end(),
                     [](const model::ContainerStatus& container) { return container.ready; });
}

// A role without minAvailable of its own never holds anybody up.
bool role_ready(const JobView& view, const std::string& name) {
  const model::TaskSpec* role = find_task(*view.job, name);
  if (!role || !role->minAvailable) return true;
  std::int32_t ready = 0;
  for (const PodRef& pod : view.pods)
    if (role_of(*pod) == name && is_ready(*pod)) ++ready;
  return ready >= *role->minAvailable;
}

}  // namespace

bool dependencies_ready(const JobView& view, const model::TaskSpec& task) {
  if (!task.dependsOn || task.dependsOn->name.empty()) return true;
  auto ready = [&](const std::string& name) { return role_ready(view, name); };
  const std::vector<std::string>& names = task.dependsOn->name;
  if (task.dependsOn->iteration == "any" && names.size() > 1)
    return std::any_of(names.begin(), names.end(), ready);
  return std::all_of(names.begin(), names.end(), ready);
}

}  // namespace hekla::controllers
