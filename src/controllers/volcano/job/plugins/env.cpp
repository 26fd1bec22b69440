// env: tells every container which replica of its role it is, as VK_TASK_INDEX and VC_TASK_INDEX.
// No arguments.
#include "controllers/volcano/job/plugin.h"

namespace hekla::controllers {
namespace {

class EnvPlugin final : public JobPlugin {
 public:
  Result<void> on_pod_create(const PodPlace& place, json::Value& pod) const override {
    std::string index = std::to_string(place.index);
    auto add = [&index](json::Object& container) {
      set_env(container, "VK_TASK_INDEX", json::Value(index));
      set_env(container, "VC_TASK_INDEX", json::Value(index));
    };
    for_each_container(pod, false, add);
    for_each_container(pod, true, add);
    return {};
  }
};

}  // namespace

extern const JobPluginInfo job_plugin_env;
const JobPluginInfo job_plugin_env{
    "env", "the replica's index in the environment",
    [](const std::vector<std::string>&) -> std::unique_ptr<JobPlugin> {
      return std::make_unique<EnvPlugin>();
    }};

}  // namespace hekla::controllers
