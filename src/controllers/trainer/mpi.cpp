// MPI runtimes: nodes are sshd, the launcher reaches them by a key and a file of hosts that follow
// from the TrainJob.
#include <algorithm>

#include "controllers/trainer/plan.h"
#include "framework/pods.h"

namespace hekla::controllers::trainer {
namespace {

constexpr int kOwner = 0400, kGroup = 0640, kPublic = 0644, kReadable = 0444;
const std::string kKeys = "mpi-ssh-auth", kHosts = "mpi-hostfile", kDirectory = "/etc/mpi";

json::Object item(const char* key, const char* path, int mode) {
  return {{"key", key}, {"path", path}, {"mode", mode}};
}

json::Value key_volume(const Plan& plan) {
  return json::Object{
      {"name", kKeys},
      {"secret",
       json::Object{{"secretName", mpi_secret_name(plan)},
                    {"defaultMode", kOwner},
                    {"items", json::Array{item("ssh-privatekey", "id_rsa", kGroup),
                                          item("ssh-publickey", "id_rsa.pub", kPublic),
                                          item("ssh-publickey", "authorized_keys", kPublic)}}}}};
}

json::Value host_volume(const Plan& plan) {
  return json::Object{
      {"name", kHosts},
      {"configMap", json::Object{{"name", mpi_hostfile_name(plan)},
                                 {"items", json::Array{item("hostfile", "hostfile", kReadable)}}}}};
}

std::int64_t slots_of(Plan& plan, const json::Value& policy) {
  const json::Value* given = json::find_path(plan.job->spec, {"trainer", "numProcPerNode"});
  if (given && given->is_number()) return given->to_number<std::int64_t>();
  const std::int64_t slots = json::int_at(policy, {"numProcPerNode"}, 1);
  return slots == 1 ? std::max<std::int64_t>(1, gpus_per_node(plan)) : slots;
}

bool is_host(const json::Value& policy, const PodSet& pods) {
  return pods.name == "node" ||
         (pods.name == "launcher" && json::bool_at(policy, {"runLauncherAsNode"}));
}

}  // namespace

std::string mpi_secret_name(const Plan& plan) { return plan.name() + "-mpi-ssh-auth"; }
std::string mpi_hostfile_name(const Plan& plan) { return plan.name() + "-mpi-hostfile"; }

std::string mpi_hostfile(Plan& plan, const json::Value& policy) {
  std::string text;
  for (const PodSet& pods : plan.pod_sets)
    for (std::int32_t i = 0; is_host(policy, pods) && i < pods.count; ++i)
      text += plan.endpoint(pods.name, i) + " slots=" + std::to_string(plan.slots) + "\n";
  return text;
}

Result<void> apply_mpi(Plan& plan, const json::Value& policy) {
  std::string mpi = json::text_at(policy, {"mpiImplementation"});
  if (!mpi.empty() && mpi != "OpenMPI")
    return fail(Code::invalid, "MPI implementation for " + mpi + " doesn't supported");
  std::string keys = json::text_at(policy, {"sshAuthMountPath"});
  if (keys.empty()) keys = "/root/.ssh";
  plan.slots = slots_of(plan, policy);
  for (const PodSet& pods : plan.pod_sets) {
    const bool launcher = pods.name == "launcher";
    if (!launcher && pods.name != "node") continue;
    framework::add_volume(plan.pod(pods), key_volume(plan));
    if (launcher) framework::add_volume(plan.pod(pods), host_volume(plan));
    json::Object* container = plan.container(pods, "node");
    if (!container) continue;
    framework::add_mount(*container, json::Object{{"name", kKeys}, {"mountPath", keys}});
    if (!launcher) continue;
    framework::add_mount(*container, json::Object{{"name", kHosts}, {"mountPath", kDirectory}});
    put_env(*container, "OMPI_MCA_orte_default_hostfile", kDirectory + "/hostfile");
    put_env(*container, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
    put_env(*container, "OMPI_MCA_orte_set_default_slots", std::to_string(plan.slots));
    put_env(*container, "OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10");
  }
  return {};
}

}  // namespace hekla::controllers::trainer
