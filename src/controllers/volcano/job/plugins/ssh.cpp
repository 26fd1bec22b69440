// ssh: lets the pods of a job reach one another without a password. A Secret <job>-ssh holds a key
// pair, the authorised key and a client configuration with every pod's host, mounted where ssh
// looks for it. Keys are made once per run of the job and do not follow a change of scale.
//
// Arguments: ssh-key-file-path (/root/.ssh), ssh-private-key, ssh-public-key (made when there
// is no private one), ssh-port (22).
#include "base/bytes.h"
#include "base/ssh_key.h"
#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/plugin.h"

namespace hekla::controllers {
namespace {

constexpr std::string_view kRootPath = "/root/.ssh";

class SshPlugin final : public JobPlugin {
 public:
  explicit SshPlugin(const PluginArguments& arguments)
      : path_(arguments.text("ssh-key-file-path", std::string(kRootPath))),
        private_key_(arguments.text("ssh-private-key", "")),
        public_key_(arguments.text("ssh-public-key", "")),
        port_(arguments.number("ssh-port", 22)) {
    if (port_ < 1 || port_ > 65535) port_ = 22;
  }

  Result<void> on_pod_create(const PodPlace& place, json::Value& pod) const override {
    std::string name = secret_name(place.job);
    json::Array items;
    for (const char* key : {"id_rsa", "id_rsa.pub", "authorized_keys", "config"})
      items.push_back(json::Object{{"key", key}, {"path", std::string(".ssh/") + key}});
    // sshd refuses keys others can read, but a user other than root could not read them at all.
    int mode = path_ == kRootPath ? 0600 : 0644;
    add_volume(pod, json::Object{{"name", name},
                                 {"secret", json::Object{{"secretName", name},
                                                         {"items", std::move(items)},
                                                         {"defaultMode", mode}}}});
    auto equip = [&](json::Object& container) {
      add_mount(container, json::Object{{"name", name}, {"mountPath", path_}, {"subPath", ".ssh"}});
    };
    for_each_container(pod, false, equip);
    for_each_container(pod, true, equip);
    return {};
  }

  Result<std::vector<PluginObject>> objects(const model::VcJob& job) const override {
    TRY(check_hosts(job));
    SshKeyPair keys{private_key_, public_key_};
    if (private_key_.empty()) keys = TRY(make_ssh_key());
    json::Object data{{"id_rsa", base64_encode(keys.private_pem)},
                      {"id_rsa.pub", base64_encode(keys.public_line)},
                      {"authorized_keys", base64_encode(keys.public_line)},
                      {"config", base64_encode(client_config(job))}};
    json::Object secret{{"apiVersion", "v1"},
                        {"kind", "Secret"},
                        {"metadata", json::Object{{"name", secret_name(job)}}},
                        {"data", std::move(data)}};
    return std::vector<PluginObject>{{kube::resources::secrets, std::move(secret)}};
  }

  std::vector<std::pair<kube::Resource, std::string>> object_names(
      const model::VcJob& job) const override {
    return {{kube::resources::secrets, secret_name(job)}};
  }

 private:
  static std::string secret_name(const model::VcJob& job) { return job.metadata.name + "-ssh"; }

  std::string client_config(const model::VcJob& job) const {
    std::string config = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n";
    for (const model::TaskSpec& task : job.spec.tasks)
      for (const std::string& host : role_hosts(job, task))
        config += "Host " + host.substr(0, host.find('.')) + "\n  HostName " + host + "\n  Port " +
                  std::to_string(port_) + "\n";
    return config;
  }

  std::string path_, private_key_, public_key_;
  std::int32_t port_;
};

}  // namespace

extern const JobPluginInfo job_plugin_ssh;
const JobPluginInfo job_plugin_ssh{
    "ssh", "keys and configuration for ssh between the pods of a job",
    [](const std::vector<std::string>& arguments) -> std::unique_ptr<JobPlugin> {
      return std::make_unique<SshPlugin>(PluginArguments(arguments));
    }};

}  // namespace hekla::controllers
