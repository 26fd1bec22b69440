// mpi: the ssh port on every container, and MPI_HOST with the workers' hosts on the masters. Needs
// svc and ssh, which admission adds.
//
// Arguments: master (master), worker (worker), port (22).
#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/plugin.h"

namespace hekla::controllers {
namespace {

class MpiPlugin final : public JobPlugin {
 public:
  explicit MpiPlugin(const PluginArguments& arguments)
      : master_(arguments.text("master", "master")),
        worker_(arguments.text("worker", "worker")),
        port_(arguments.number("port", 22)) {}

  Result<void> on_pod_create(const PodPlace& place, json::Value& pod) const override {
    std::string hosts;
    bool is_master = place.task.name == master_;
    if (is_master) {
      const model::TaskSpec* worker = find_task(place.job, worker_);
      if (!worker) return {};
      TRY(check_hosts(place.job));
      for (const std::string& host : role_hosts(place.job, *worker))
        hosts += (hosts.empty() ? "" : ",") + host;
    }
    auto equip = [&](json::Object& container) {
      add_port(container, "mpijob-port", port_);
      if (is_master) set_env(container, "MPI_HOST", json::Value(hosts));
    };
    for_each_container(pod, false, equip);
    for_each_container(pod, true, equip);
    return {};
  }

 private:
  std::string master_, worker_;
  std::int32_t port_;
};

}  // namespace

extern const JobPluginInfo job_plugin_mpi;
const JobPluginInfo job_plugin_mpi{
    "mpi", "worker hosts for mpirun",
    [](const std::vector<std::string>& arguments) -> std::unique_ptr<JobPlugin> {
      return std::make_unique<MpiPlugin>(PluginArguments(arguments));
    }};

}  // namespace hekla::controllers
