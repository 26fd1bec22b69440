// svc: lets the pods of a job find one another. A headless Service gives each pod the name
// <pod>.<job>; a ConfigMap with the hosts of every role is mounted at /etc/volcano (one <role>.host
// file each, no newline after the last host) and offered as VC_<ROLE>_HOSTS and VC_<ROLE>_NUM; a
// NetworkPolicy lets in only the job's own pods.
//
// Arguments: publish-not-ready-addresses (false), disable-network-policy (false), inject-hosts-env
// (true).
#include <algorithm>

#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/plugin.h"

namespace hekla::controllers {
namespace {

std::string joined(const std::vector<std::string>& parts, char separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

// A role's name as part of a variable's: dashes become underscores.
std::string variable_part(const std::string& role) {
  std::string text = role;
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

json::Object pods_of(const model::VcJob& job) {
  return json::Object{{model::keys::job_name, job.metadata.name},
                      {model::keys::job_namespace, job.metadata.ns}};
}

class SvcPlugin final : public JobPlugin {
 public:
  explicit SvcPlugin(const PluginArguments& arguments)
      : publish_not_ready_(arguments.flag("publish-not-ready-addresses", false)),
        network_policy_(!arguments.flag("disable-network-policy", false)),
        inject_hosts_(arguments.flag("inject-hosts-env", true)) {}

  Result<void> on_pod_create(const PodPlace& place, json::Value& pod) const override {
    json::Value& hostname = json::at_path(pod, {"spec", "hostname"});
    if (!hostname.is_string() || hostname.get_string().empty())
      hostname = json::string_at(pod, {"metadata", "name"});
    json::Value& subdomain = json::at_path(pod, {"spec", "subdomain"});
    if (!subdomain.is_string() || subdomain.get_string().empty())
      subdomain = place.job.metadata.name;

    std::string map = config_map_name(place.job);
    add_volume(pod, json::Object{{"name", map}, {"configMap", json::Object{{"name", map}}}});
    auto equip = [&](json::Object& container) {
      add_mount(container, json::Object{{"name", map}, {"mountPath", "/etc/volcano"}});
      if (inject_hosts_)
        for (const model::TaskSpec& task : place.job.spec.tasks)
          add_hosts_env(container, map, task);
    };
    for_each_container(pod, false, equip);
    for_each_container(pod, true, equip);
    return {};
  }

  Result<std::vector<PluginObject>> objects(const model::VcJob& job) const override {
    TRY(check_hosts(job));
    std::vector<PluginObject> made;
    made.push_back({kube::resources::config_maps, config_map(job), true});
    made.push_back({kube::resources::services, service(job)});
    if (network_policy_) made.push_back({kube::resources::network_policies, network_policy(job)});
    return made;
  }

  std::vector<std::pair<kube::Resource, std::string>> object_names(
      const model::VcJob& job) const override {
    std::vector<std::pair<kube::Resource, std::string>> names{
        {kube::resources::config_maps, config_map_name(job)},
        {kube::resources::services, job.metadata.name}};
    if (network_policy_) names.emplace_back(kube::resources::network_policies, job.metadata.name);
    return names;
  }

 private:
  static std::string config_map_name(const model::VcJob& job) { return job.metadata.name + "-svc"; }

  static void add_hosts_env(json::Object& container, const std::string& map,
                            const model::TaskSpec& task) {
    for (const char* what : {"_HOSTS", "_NUM"}) {
      std::string key = "VC_" + upper(variable_part(task.name)) + what;
      set_env(container, key,
              json::Object{{"configMapKeyRef", json::Object{{"name", map}, {"key", key}}}});
    }
  }

  static json::Value config_map(const model::VcJob& job) {
    json::Object data;
    for (const model::TaskSpec& task : job.spec.tasks) {
      std::vector<std::string> hosts = role_hosts(job, task);
      std::string role = variable_part(task.name);
      data[role + ".host"] = joined(hosts, '\n');
      data["VC_" + upper(role) + "_HOSTS"] = joined(hosts, ',');
      data["VC_" + upper(role) + "_NUM"] = std::to_string(hosts.size());
    }
    return json::Object{{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", json::Object{{"name", config_map_name(job)}}},
                        {"data", std::move(data)}};
  }

  json::Value service(const model::VcJob& job) const {
    json::Object spec{{"clusterIP", "None"}, {"selector", pods_of(job)}};
    if (publish_not_ready_) spec["publishNotReadyAddresses"] = true;
    return json::Object{{"apiVersion", "v1"},
                        {"kind", "Service"},
                        {"metadata", json::Object{{"name", job.metadata.name}}},
                        {"spec", std::move(spec)}};
  }

  static json::Value network_policy(const model::VcJob& job) {
    json::Object own_pods{{"matchLabels", pods_of(job)}};
    json::Object from{{"from", json::Array{json::Object{{"podSelector", own_pods}}}}};
    return json::Object{{"apiVersion", "networking.k8s.io/v1"},
                        {"kind", "NetworkPolicy"},
                        {"metadata", json::Object{{"name", job.metadata.name}}},
                        {"spec", json::Object{{"podSelector", own_pods},
                                              {"ingress", json::Array{std::move(from)}},
                                              {"policyTypes", json::Array{"Ingress"}}}}};
  }

  bool publish_not_ready_, network_policy_, inject_hosts_;
};

}  // namespace

extern const JobPluginInfo job_plugin_svc;
const JobPluginInfo job_plugin_svc{
    "svc", "names, hosts and isolation for the pods of a job",
    [](const std::vector<std::string>& arguments) -> std::unique_ptr<JobPlugin> {
      return std::make_unique<SvcPlugin>(PluginArguments(arguments));
    }};

}  // namespace hekla::controllers
