// hcclrank: the rank of a pod among masters and workers as annotation hccl/rankIndex, for Ascend's
// collective library. An annotation that is there stays; a RANK in the environment wins over the
// index.
//
// Arguments: master (master), worker (worker).
#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/plugin.h"

namespace hekla::controllers {
namespace {

constexpr std::string_view kAnnotation = "hccl/rankIndex";

class HcclrankPlugin final : public JobPlugin {
 public:
  explicit HcclrankPlugin(const PluginArguments& arguments)
      : master_(arguments.text("master", "master")), worker_(arguments.text("worker", "worker")) {}

  Result<void> on_pod_create(const PodPlace& place, json::Value& pod) const override {
    if (!json::string_at(pod, {"metadata", "annotations", kAnnotation}).empty()) return {};
    std::string rank = rank_in_environment(pod);
    if (rank.empty()) rank = rank_by_index(place);
    if (!rank.empty()) json::at_path(pod, {"metadata", "annotations", kAnnotation}) = rank;
    return {};
  }

 private:
  static std::string rank_in_environment(const json::Value& pod) {
    const json::Array* containers = json::array_at(pod, {"spec", "containers"});
    if (!containers) return {};
    for (const json::Value& container : *containers)
      if (const json::Array* env = json::array_at(container, {"env"}))
        for (const json::Value& variable : *env)
          if (json::string_at(variable, {"name"}) == "RANK")
            return std::string(json::string_at(variable, {"value"}));
    return {};
  }

  std::string rank_by_index(const PodPlace& place) const {
    if (place.task.name == master_) return std::to_string(place.index);
    if (place.task.name != worker_) return {};
    const model::TaskSpec* master = find_task(place.job, master_);
    return std::to_string(place.index + (master ? master->replicas : 0));
  }

  std::string master_, worker_;
};

}  // namespace

extern const JobPluginInfo job_plugin_hcclrank;
const JobPluginInfo job_plugin_hcclrank{
    "hcclrank", "the rank of a pod for Ascend's collective library",
    [](const std::vector<std::string>& arguments) -> std::unique_ptr<JobPlugin> {
      return std::make_unique<HcclrankPlugin>(PluginArguments(arguments));
    }};

}  // namespace hekla::controllers
