// pytorch: MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK for torch.distributed. Without a master
// task nothing happens. Needs svc, which admission adds.
//
// Arguments: master (master), worker (worker), port (23456), wait-master-enabled (false): workers
// get an init container that waits for the master's port, wait-master-timeout (300 s),
// wait-master-image (busybox:1.36.1).
#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/plugin.h"
#include "model/program_image.h"

namespace hekla::controllers {
namespace {

class PytorchPlugin final : public JobPlugin {
 public:
  explicit PytorchPlugin(const PluginArguments& arguments)
      : master_(arguments.text("master", "master")),
        worker_(arguments.text("worker", "worker")),
        port_(arguments.number("port", 23456)),
        wait_(arguments.flag("wait-master-enabled", false)),
        wait_timeout_(arguments.number("wait-master-timeout", 300)),
        wait_image_(arguments.text("wait-master-image", "busybox:1.36.1")) {}

  Result<void> on_pod_create(const PodPlace& place, json::Value& pod) const override {
    const model::TaskSpec* master = find_task(place.job, master_);
    if (!master) return {};
    const model::TaskSpec* worker = find_task(place.job, worker_);
    std::string address = pod_host(place.job, *master, 0);
    std::int64_t world = std::int64_t{master->replicas} + (worker ? worker->replicas : 0);
    for_each_container(pod, false, [&](json::Object& container) {
      add_port(container, "pytorchjob-port", port_);
      set_env(container, "MASTER_ADDR", json::Value(address));
      set_env(container, "MASTER_PORT", json::Value(std::to_string(port_)));
      set_env(container, "WORLD_SIZE", json::Value(std::to_string(world)));
      if (place.task.name == master_)
        set_env(container, "RANK", json::Value(std::to_string(place.index)));
      else if (place.task.name == worker_)
        set_env(container, "RANK", json::Value(std::to_string(place.index + master->replicas)));
    });
    if (wait_ && place.task.name == worker_) add_wait(pod, address);
    return {};
  }

 private:
  void add_wait(json::Value& pod, const std::string& address) const {
    json::Value& list = json::at_path(pod, {"spec", "initContainers"});
    if (!list.is_array()) list = json::Array();
    for (const json::Value& one : list.get_array())
      if (json::string_at(one, {"name"}) == "wait-for-master") return;  // the job brings its own
    list.get_array().push_back(json::Object{
        {"name", "wait-for-master"}, {"image", wait_image_}, {"command", wait_command(address)}});
  }

  json::Array wait_command(const std::string& address) const {
    std::string port = std::to_string(port_);
    if (wait_image_ == model::kProgramImage)
      return {model::kProgramPath,
              "inside",
              "wait-for-port",
              json::Value(address),
              json::Value(port),
              "--timeout",
              json::Value(std::to_string(wait_timeout_))};
    std::string script = "end=$(( $(date +%s) + " + std::to_string(wait_timeout_) +
                         " )); until nc -z " + address + " " + port +
                         " 2>/dev/null || (: </dev/tcp/" + address + "/" + port +
                         ") 2>/dev/null; do [ $(date +%s) -lt $end ] || exit 1; sleep 2; done";
    return {"sh", "-c", json::Value(script)};
  }

  std::string master_, worker_;
  std::int32_t port_;
  bool wait_;
  std::int32_t wait_timeout_;
  std::string wait_image_;
};

}  // namespace

extern const JobPluginInfo job_plugin_pytorch;
const JobPluginInfo job_plugin_pytorch{
    "pytorch", "rendezvous variables for torch.distributed",
    [](const std::vector<std::string>& arguments) -> std::unique_ptr<JobPlugin> {
      return std::make_unique<PytorchPlugin>(PluginArguments(arguments));
    }};

}  // namespace hekla::controllers
