// MPIJob v1: mpirun in a launcher pod reaches the workers by `kubectl exec`, for which it gets an
// agent (kubexec.sh), a ServiceAccount with the right to do so, and kubectl itself, brought by an
// init container. Jobs of v2beta1 reach them by ssh (mpi_ssh.cpp).
#include <algorithm>

#include "controllers/training/mpi.h"
#include "framework/pods.h"
#include "model/program_image.h"

namespace hekla::controllers::training {
namespace {

namespace resources = kube::resources;
constexpr int kReadable = 0444, kRunnable = 0555;
constexpr const char* kKubectlVolume = "mpi-job-kubectl";
constexpr const char* kKubectlPath = "/opt/kube";

kube::Resource roles() { return {"rbac.authorization.k8s.io", "v1", "roles", "Role"}; }
kube::Resource role_bindings() {
  return {"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"};
}

bool names_gpu(std::string_view resource) { return resource.find("gpu") != std::string_view::npos; }

// A launcher with a device computes too.
bool is_gpu_launcher(const TrainingJob& job) {
  const Replica* launcher = job.find("Launcher");
  const json::Array* containers =
      launcher ? json::array_at(*launcher->pod_template, {"spec", "containers"}) : nullptr;
  if (!containers) return false;
  return std::any_of(containers->begin(), containers->end(), [](const json::Value& one) {
    const json::Object* limits = json::object_at(one, {"resources", "limits"});
    return limits && std::any_of(limits->begin(), limits->end(),
                                 [](const auto& limit) { return names_gpu(limit.key()); });
  });
}

std::string launcher_account(const TrainingJob& job) {
  const Replica* launcher = job.find("Launcher");
  std::string own =
      launcher ? json::text_at(*launcher->pod_template, {"spec", "serviceAccountName"}) : "";
  return own.empty() ? job.name + "-launcher" : own;
}

std::string hostfile(const TrainingJob& job) {
  const std::string slots = " slots=" + std::to_string(slots_per_worker(job)) + "\n";
  std::string text;
  if (is_gpu_launcher(job)) text += job.name + "-launcher" + slots;
  if (const Replica* worker = job.find("Worker"))
    for (std::int32_t i = 0; i < worker->replicas; ++i) text += job.pod_name(*worker, i) + slots;
  return text;
}

// Elastic Horovod asks it who is there.
std::string discover_hosts(JobRound& round) {
  const std::string slots = ":" + std::to_string(slots_per_worker(round.job())) + "\n";
  std::string text = "#!/bin/sh\n";
  if (is_gpu_launcher(round.job())) text += "echo " + round.job().name + "-launcher" + slots;
  for (const framework::PodRef& pod : running_workers(round))
    text += "echo " + pod->metadata.name + slots;
  return text;
}

// Instead of rsh: the host is a pod's name.
std::string kubexec(const TrainingJob& job) {
  const std::string container = json::text_at(job.spec(), {"mainContainer"});
  return "#!/bin/sh\nset -x\npod=$1\nshift\n" + std::string(kKubectlPath) +
         "/kubectl exec \"$pod\"" + (container.empty() ? "" : " --container " + container) +
         " -- /bin/sh -c \"$*\"\n";
}

json::Object metadata(const TrainingJob& job, const std::string& name) {
  return {{"name", name}, {"labels", json::Object{{"app", job.name}}}};
}

void want_rights(JobRound& round) {
  const TrainingJob& job = round.job();
  const std::string name = job.name + "-launcher", account = launcher_account(job);
  if (!round.view().find(resources::service_accounts, {job.ns, account}))
    round.want(resources::service_accounts, json::Object{{"metadata", metadata(job, account)}},
               framework::Care::create_once);
  json::Array workers;
  if (const Replica* worker = job.find("Worker"))
    for (std::int32_t i = 0; i < worker->replicas; ++i)
      workers.emplace_back(job.pod_name(*worker, i));
  json::Array rules{json::Object{{"verbs", json::Array{"get", "list", "watch"}},
                                 {"apiGroups", json::Array{""}},
                                 {"resources", json::Array{"pods"}}},
                    // Exec by WebSocket is a GET.
                    json::Object{{"verbs", json::Array{"create", "get"}},
                                 {"apiGroups", json::Array{""}},
                                 {"resources", json::Array{"pods/exec"}},
                                 {"resourceNames", std::move(workers)}}};
  round.want(roles(), json::Object{{"metadata", metadata(job, name)}, {"rules", std::move(rules)}},
             framework::Care::apply);
  round.want(role_bindings(),
             json::Object{{"metadata", metadata(job, name)},
                          {"subjects", json::Array{json::Object{{"kind", "ServiceAccount"},
                                                                {"name", account},
                                                                {"namespace", job.ns}}}},
                          {"roleRef", json::Object{{"apiGroup", "rbac.authorization.k8s.io"},
                                                   {"kind", "Role"},
                                                   {"name", name}}}},
             framework::Care::apply);
}

void companions(JobRound& round, Stage stage) {
  if (stage != Stage::running) return;
  const TrainingJob& job = round.job();
  round.want(resources::config_maps,
             json::Object{{"metadata", metadata(job, job.name + "-config")},
                          {"data", json::Object{{"hostfile", hostfile(job)},
                                                {"kubexec.sh", kubexec(job)},
                                                {"discover_hosts.sh", discover_hosts(round)}}}},
             framework::Care::apply);
  want_rights(round);
}

std::vector<framework::OwnedKind> owns() {
  const framework::ChildWords words{
      .taken = framework::EventText{"Warning", "ErrResourceExists",
                                    "Resource \"{name}\" of MPIJobKind \"{kind}\" already exists "
                                    "and is not managed by MPIJob"}};
  std::vector<framework::OwnedKind> all;
  for (const kube::Resource& one :
       {resources::config_maps, resources::service_accounts, roles(), role_bindings()})
    all.push_back({.resource = one, .words = words});
  return all;
}

void complete_worker(const Place& place, json::Value& pod) {
  json::Object& container = first_container(pod);
  if (const json::Array* command = json::array_at(container, {"command"});
      !command || command->empty()) {
    container["command"] = json::Array{"sleep"};
    container["args"] = json::Array{"365d"};
  }
  mount_config(place.job, pod, {config_item("kubexec.sh", kRunnable)});
}

json::Value kubectl_delivery(const TrainingJob& job) {
  const json::Object room{{"cpu", "100m"}, {"memory", "512Mi"}, {"ephemeral-storage", "5Gi"}};
  json::Object container{
      {"name", "kubectl-delivery"},
      {"image", job.options->kubectl_delivery_image},
      {"imagePullPolicy", "IfNotPresent"},
      {"env", json::Array{json::Object{{"name", "TARGET_DIR"}, {"value", kKubectlPath}},
                          json::Object{{"name", "NAMESPACE"}, {"value", job.ns}}}},
      {"volumeMounts",
       json::Array{json::Object{{"name", kKubectlVolume}, {"mountPath", kKubectlPath}},
                   json::Object{{"name", kMpiConfig}, {"mountPath", kMpiConfigPath}}}},
      {"resources", json::Object{{"limits", room}, {"requests", room}}}};
  if (job.options->kubectl_delivery_image == model::kProgramImage)
    container["command"] = json::Array{model::kProgramPath, "inside", "deliver-kubectl"};
  return container;
}

bool has_variable(const json::Object& container, std::string_view name) {
  const json::Value* env = json::find(container, "env");
  if (!env || !env->is_array()) return false;
  return std::any_of(env->get_array().begin(), env->get_array().end(), [&](const json::Value& one) {
    return json::string_at(one, {"name"}) == name;
  });
}

void complete_launcher(const Place& place, json::Value& pod) {
  const TrainingJob& job = place.job;
  const std::string agent = std::string(kMpiConfigPath) + "/kubexec.sh";
  json::at_path(pod, {"spec", "serviceAccountName"}) = launcher_account(job);
  json::Value& init = json::at_path(pod, {"spec", "initContainers"});
  if (!init.is_array()) init = json::Array();
  init.get_array().push_back(kubectl_delivery(job));
  json::Object& container = first_container(pod);
  const bool own_bootstrap = has_variable(container, "I_MPI_HYDRA_BOOTSTRAP"),
             own_exec = has_variable(container, "I_MPI_HYDRA_BOOTSTRAP_EXEC");
  append_env(container, "OMPI_MCA_plm_rsh_agent", agent);
  append_env(container, "OMPI_MCA_orte_default_hostfile",
             std::string(kMpiConfigPath) + "/hostfile");
  if (!is_gpu_launcher(job)) hide_gpus(container);
  if (!own_bootstrap) append_env(container, "I_MPI_HYDRA_BOOTSTRAP", "rsh");
  if (!own_exec) append_env(container, "I_MPI_HYDRA_BOOTSTRAP_EXEC", agent);
  framework::add_mount(container,
                       json::Object{{"name", kKubectlVolume}, {"mountPath", kKubectlPath}});
  framework::add_volume(pod, json::Object{{"name", kKubectlVolume}, {"emptyDir", json::Object()}});
  mount_config(job, pod,
               {config_item("kubexec.sh", kRunnable), config_item("hostfile", kReadable),
                config_item("discover_hosts.sh", kRunnable)});
}

void complete(const Place& place, json::Value& pod) {
  json::at_path(pod, {"metadata", "labels", "mpi_role_type"}) = place.replica.lower;
  place.replica.type == "Launcher" ? complete_launcher(place, pod) : complete_worker(place, pod);
}

bool is_master(const TrainingJob&, const Replica& replica, std::int32_t) {
  return replica.type == "Launcher";
}

void conclude(JobRound& round) {
  const RoleState& launcher = *round.role("Launcher");
  const RoleState* workers = round.role("Worker");
  const framework::PodRef pod = launcher.pods.empty() ? nullptr : launcher.pods.front();
  const bool ends = launcher.replica->restart == RestartPolicy::never;
  if (pod && pod->status.phase == "Failed" && ends && !round.finished()) {
    const std::string& why = pod->status.reason;
    round.set_failed_for(why == "Evicted" ? round.reason("Evicted")
                         : why.empty()    ? round.reason("Failed")
                                          : why,
                         round.filled("MPIJob {key} has failed"), "Warning");
  }
  if (const std::int32_t evicted = evicted_workers(round); evicted > 0 && !round.finished())
    round.set_failed_for(
        round.reason("Evicted"),
        std::to_string(evicted) + "/" + std::to_string(workers->wanted) + " workers are evicted",
        "Warning");
  const bool all = launcher.active > 0 && (!workers || workers->active == workers->wanted);
  if (all && !round.finished() && !round.conditions().is_true("Running")) {
    round.set_running(round.filled("MPIJob {key} is running."));
    round.outcome().tell_with_status("Normal", round.reason("Running"),
                                     round.filled("MPIJob {key} is running"));
  }
  round.conclude();
}

// Upstream looks at MPIJobs when they are reconciled, and not at admission.
std::string invalid(const framework::AnyObject& job) {
  const json::Object* given = json::object_at(job.spec, {"mpiReplicaSpecs"});
  if (!given) return "MPIReplicaSpecs is not valid";
  for (const auto& role : *given) {
    const std::string type(role.key());
    const json::Array* containers =
        json::array_at(role.value(), {"template", "spec", "containers"});
    if (!containers || containers->empty())
      return "MPIReplicaSpecs is not valid: containers definition expected in " + type;
    if (type != "Launcher" && type != "Worker")
      return "MPIReplicaType is " + type + " but must be one of [Launcher Worker]";
    for (const json::Value& container : *containers)
      if (json::string_at(container, {"image"}).empty())
        return "MPIReplicaSpec is not valid: Image is undefined in the container of " + type;
    if (type == "Launcher" && json::int_at(role.value(), {"replicas"}, 1) != 1)
      return "MPIReplicaSpec is not valid: There must be only 1 launcher replica";
  }
  return given->contains("Launcher")
             ? ""
             : "MPIReplicaSpec is not valid: Master ReplicaSpec must be present";
}

}  // namespace

extern const TrainingKind training_kind_mpijob;
const TrainingKind training_kind_mpijob{
    .resource = {"kubeflow.org", "v1", "mpijobs", "MPIJob"},
    .framework = "mpi",
    .roles_member = "mpiReplicaSpecs",
    .roles = {{.name = "Launcher", .numbered = false}, {.name = "Worker", .replicas = 0}},
    .container = "mpi",
    .services = false,
    .deciders = {"Launcher"},
    .words = {.running = "MPIJob {job} is running.",
              .succeeded = "MPIJob {key} successfully completed.",
              .restarting = "MPIJob {job} is restarting because {count} {role} replica(s) failed.",
              .failed = "MPIJob {job} is failed because {count} {role} replica(s) failed."},
    .old_prefix = "mpi",
    .is_master = is_master,
    .complete = complete,
    .invalid = invalid,
    .companions = companions,
    .owns = owns,
    .conclude = conclude,
    .variant_version = "v2beta1",
    .variant = &mpi_over_ssh};

}  // namespace hekla::controllers::training
