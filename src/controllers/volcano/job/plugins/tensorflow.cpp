// tensorflow: TF_CONFIG in every container: the hosts of each role and the pod's own place; a pod
// of a task that plays no role goes by the task's name. A job of one pod gets none. Needs svc,
// which admission adds.
//
// Arguments: ps, worker, chief, evaluator (the tasks that play these roles; each named like its
// role), port (2222).
#include <array>

#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/plugin.h"

namespace hekla::controllers {
namespace {

class TensorflowPlugin final : public JobPlugin {
 public:
  explicit TensorflowPlugin(const PluginArguments& arguments)
      : port_(arguments.number("port", 2222)) {
    for (const char* role : {"ps", "worker", "chief", "evaluator"})
      roles_.emplace_back(role, arguments.text(role, role));
  }

  Result<void> on_pod_create(const PodPlace& place, json::Value& pod) const override {
    const model::VcJobSpec& spec = place.job.spec;
    if (spec.tasks.size() == 1 && spec.tasks.front().replicas == 1) return {};
    TRY(check_hosts(place.job));
    std::string own = place.task.name;
    json::Object cluster;
    for (const auto& [role, task_name] : roles_) {
      const model::TaskSpec* task = find_task(place.job, task_name);
      if (!task) continue;
      json::Array hosts;
      for (std::int32_t i = 0; i < task->replicas; ++i)
        hosts.push_back(json::Value(pod_host(place.job, *task, i) + ":" + std::to_string(port_)));
      if (!hosts.empty()) cluster[role] = std::move(hosts);
      if (task_name == place.task.name) own = role;
    }
    json::Value config =
        json::Object{{"cluster", std::move(cluster)},
                     {"task", json::Object{{"type", own}, {"index", place.index}}}};
    std::string text = json::serialize(config);
    for_each_container(pod, false, [&](json::Object& container) {
      set_env(container, "TF_CONFIG", json::Value(text));
    });
    return {};
  }

 private:
  std::int32_t port_;
  std::vector<std::pair<std::string, std::string>> roles_;  // role, task; in the order of TF_CONFIG
};

}  // namespace

extern const JobPluginInfo job_plugin_tensorflow;
const JobPluginInfo job_plugin_tensorflow{
    "tensorflow", "TF_CONFIG for distributed TensorFlow",
    [](const std::vector<std::string>& arguments) -> std::unique_ptr<JobPlugin> {
      return std::make_unique<TensorflowPlugin>(PluginArguments(arguments));
    }};

}  // namespace hekla::controllers
