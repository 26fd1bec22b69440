// ray: starts a Ray head and its workers, and gives the head a Service. The commands of the named
// containers are replaced. A job without a head task is an error. Needs svc, which admission adds.
//
// Arguments: head (head), headContainer (head), worker (worker), workerContainer (worker), port
// (6379), dashboardPort (8265), clientPort (10001).
#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/plugin.h"

namespace hekla::controllers {
namespace {

class RayPlugin final : public JobPlugin {
 public:
  explicit RayPlugin(const PluginArguments& arguments)
      : head_(arguments.text("head", "head")),
        head_container_(arguments.text("headContainer", "head")),
        worker_(arguments.text("worker", "worker")),
        worker_container_(arguments.text("workerContainer", "worker")),
        port_(arguments.number("port", 6379)),
        dashboard_port_(arguments.number("dashboardPort", 8265)),
        client_port_(arguments.number("clientPort", 10001)) {}

  Result<void> on_pod_create(const PodPlace& place, json::Value& pod) const override {
    const model::TaskSpec* head = find_task(place.job, head_);
    if (!head) return no_head();
    for_each_container(pod, false, [&](json::Object& container) {
      const json::Value* value = json::find(container, "name");
      std::string_view name = value && value->is_string() ? json::sv(value->get_string()) : "";
      if (place.task.name == head_ && name == head_container_) start_head(container);
      if (place.task.name == worker_ && name == worker_container_)
        set_command(container, "ray start --block --address=" + pod_host(place.job, *head, 0) +
                                   ":" + std::to_string(port_));
    });
    return {};
  }

  Result<std::vector<PluginObject>> objects(const model::VcJob& job) const override {
    if (!find_task(job, head_)) return std::unexpected(no_head().error());
    json::Object selector{{model::keys::job_name, job.metadata.name},
                          {model::keys::job_namespace, job.metadata.ns},
                          {model::keys::task_spec, head_}};
    json::Array ports;
    for (const auto& [name, port] : port_list())
      ports.push_back(
          json::Object{{"name", name}, {"port", port}, {"targetPort", port}, {"protocol", "TCP"}});
    json::Object service{
        {"apiVersion", "v1"},
        {"kind", "Service"},
        {"metadata", json::Object{{"name", service_name(job)}}},
        {"spec", json::Object{{"selector", std::move(selector)}, {"ports", std::move(ports)}}}};
    return std::vector<PluginObject>{{kube::resources::services, std::move(service)}};
  }

  std::vector<std::pair<kube::Resource, std::string>> object_names(
      const model::VcJob& job) const override {
    return {{kube::resources::services, service_name(job)}};
  }

 private:
  static std::string service_name(const model::VcJob& job) {
    return job.metadata.name + "-head-svc";
  }

  Result<void> no_head() const {
    return fail(Code::invalid, "the ray plugin found no task named " + head_);
  }

  std::vector<std::pair<std::string, std::int32_t>> port_list() const {
    return {{"gcs", port_}, {"dashboard", dashboard_port_}, {"client-server", client_port_}};
  }

  static void set_command(json::Object& container, const std::string& line) {
    container["command"] = json::Array{"sh", "-c", json::Value(line)};
    container.erase("args");
  }

  void start_head(json::Object& container) const {
    set_command(container, "ray start --head --block --dashboard-host=0.0.0.0 --port=" +
                               std::to_string(port_) +
                               " --dashboard-port=" + std::to_string(dashboard_port_) +
                               " --ray-client-server-port=" + std::to_string(client_port_));
    for (const auto& [name, port] : port_list()) add_port(container, name, port);
  }

  std::string head_, head_container_, worker_, worker_container_;
  std::int32_t port_, dashboard_port_, client_port_;
};

}  // namespace

extern const JobPluginInfo job_plugin_ray;
const JobPluginInfo job_plugin_ray{
    "ray", "a Ray head, its workers and its Service",
    [](const std::vector<std::string>& arguments) -> std::unique_ptr<JobPlugin> {
      return std::make_unique<RayPlugin>(PluginArguments(arguments));
    }};

}  // namespace hekla::controllers
