// MPIJobs of v2beta1, as the MPI Operator 0.8 runs them: workers are sshd, the launcher is a Job
// that reaches them by ssh under the names of one headless Service. Deadline, back-off limit and
// time to live are the Job's.
#include "base/bytes.h"
#include "controllers/training/mpi.h"
#include "framework/pod_group.h"
#include "framework/pods.h"

namespace hekla::controllers::training {
namespace {

namespace resources = kube::resources;
constexpr int kReadable = 0444, kRunnable = 0555, kPrivate = 0600;
constexpr const char* kHostfile = "/etc/mpi/hostfile";
constexpr const char* kSshArguments = "-o ConnectionAttempts=10";

bool launcher_works(const TrainingJob& job) {
  return json::bool_at(job.spec(), {"runLauncherAsWorker"});
}

std::string implementation(const TrainingJob& job) {
  std::string given = json::text_at(job.spec(), {"mpiImplementation"});
  return given.empty() ? "OpenMPI" : given;
}

std::string ssh_path(const TrainingJob& job) {
  std::string given = json::text_at(job.spec(), {"sshAuthMountPath"});
  return given.empty() ? "/root/.ssh" : given;
}

std::string launcher_name(const TrainingJob& job) { return job.name + "-launcher"; }

std::string domain(const TrainingJob& job) {
  const std::string& given = job.options->cluster_domain;
  return job.name + "." + job.ns + ".svc" + (given.empty() ? "" : "." + given);
}

std::string hostfile(const TrainingJob& job) {
  const std::string slots = std::to_string(slots_per_worker(job));
  const std::string end = (implementation(job) == "OpenMPI" ? " slots=" : ":") + slots + "\n";
  std::string text;
  if (launcher_works(job)) text += launcher_name(job) + "." + domain(job) + end;
  if (const Replica* worker = job.find("Worker"))
    for (std::int32_t i = 0; i < worker->replicas; ++i)
      text += job.pod_name(*worker, i) + "." + domain(job) + end;
  return text;
}

std::string discover_hosts(JobRound& round) {
  std::string text = "#!/bin/sh\n";
  if (launcher_works(round.job()))
    text += "echo " + launcher_name(round.job()) + "." + domain(round.job()) + "\n";
  for (const framework::PodRef& pod : running_workers(round))
    text += "echo " + pod->metadata.name + "." + domain(round.job()) + "\n";
  return text;
}

json::Object own_labels(const TrainingJob& job) {
  json::Object made{{"app", job.name}};
  for (const auto& [key, value] : job.selector()) made[key] = value;
  return made;
}

json::Object metadata(const TrainingJob& job, const std::string& name) {
  return {{"name", name}, {"labels", own_labels(job)}};
}

void want_service(JobRound& round) {
  const TrainingJob& job = round.job();
  json::Object selector;
  for (const auto& [key, value] : job.selector()) selector[key] = value;
  json::Object spec{{"clusterIP", "None"}, {"selector", std::move(selector)}};
  if (launcher_works(job)) spec["publishNotReadyAddresses"] = true;
  round.want(resources::services,
             json::Object{{"metadata", metadata(job, job.name)}, {"spec", std::move(spec)}},
             framework::Care::apply);
}

void want_secret(JobRound& round) {
  const TrainingJob& job = round.job();
  const std::string name = job.name + "-ssh";
  if (round.view().child(resources::secrets, name)) return;
  const SshKey key = job.options->make_ssh_key();
  round.want(
      resources::secrets,
      json::Object{{"metadata", metadata(job, name)},
                   {"type", "kubernetes.io/ssh-auth"},
                   {"data", json::Object{{"ssh-privatekey", base64_encode(key.private_pem)},
                                         {"ssh-publickey", base64_encode(key.public_line)}}}},
      framework::Care::create_once);
}

bool workers_ready(JobRound& round) {
  const RoleState* workers = round.role("Worker");
  if (!workers) return true;
  for (const framework::PodRef& pod : workers->pods)
    if (!pod || !framework::pod_ready(*pod)) return false;
  return true;
}

json::Value launcher_job(JobRound& round, const Replica& launcher, bool suspended) {
  const TrainingJob& job = round.job();
  json::Value pod = round.make_pod({job, launcher, 0});
  pod.at("metadata").get_object().erase("name");
  json::Object spec{
      {"template", std::move(pod)}, {"podReplacementPolicy", "Failed"}, {"suspend", suspended}};
  for (std::string_view member :
       {"ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"})
    if (const json::Value* given = json::find_path(job.spec(), {"runPolicy", member}))
      spec[member] = *given;
  return json::Object{{"metadata", metadata(job, launcher_name(job))}, {"spec", std::move(spec)}};
}

// Made once, and stopped and let go with the MPIJob.
void want_launcher(JobRound& round, bool suspended) {
  const TrainingJob& job = round.job();
  const Replica* launcher = job.find("Launcher");
  if (!launcher) return;
  const framework::AnyRef live = round.view().child(resources::batch_jobs, launcher_name(job));
  if (live) {
    if (!live->metadata.deletionTimestamp && json::bool_at(live->spec, {"suspend"}) != suspended)
      round.outcome().edits.push_back({resources::batch_jobs, framework::key_of(live->metadata),
                                       json::Object{{"spec", json::Object{{"suspend", suspended}}}},
                                       live->metadata.uid});
    return;
  }
  const bool waits =
      json::string_at(job.spec(), {"launcherCreationPolicy"}) == "WaitForWorkersReady";
  if (waits && !suspended && !workers_ready(round)) return;
  round.want(resources::batch_jobs, launcher_job(round, *launcher, suspended),
             framework::Care::create_once);
}

void companions(JobRound& round, Stage stage) {
  if (stage == Stage::ended) return;
  const TrainingJob& job = round.job();
  want_service(round);
  round.want(resources::config_maps,
             json::Object{{"metadata", metadata(job, job.name + "-config")},
                          {"data", json::Object{{"hostfile", hostfile(job)},
                                                {"discover_hosts.sh", discover_hosts(round)}}}},
             framework::Care::apply);
  want_secret(round);
  want_launcher(round, stage == Stage::suspended);
}

std::vector<framework::OwnedKind> owns() {
  const framework::ChildWords words{
      .taken = framework::EventText{"Warning", "ErrResourceExists",
                                    "Resource \"{name}\" of Kind \"{kind}\" already exists and is "
                                    "not managed by MPIJob"}};
  std::vector<framework::OwnedKind> all;
  for (const kube::Resource& one :
       {resources::config_maps, resources::secrets, resources::batch_jobs})
    all.push_back({.resource = one, .words = words});
  return all;
}

void label(const Place& place, json::Object& labels) {
  labels[labels::job_role] = place.replica.lower;
  const bool works = launcher_works(place.job);
  if (place.replica.type == "Worker")
    labels[labels::replica_index] = std::to_string(place.index + (works ? 1 : 0));
  else if (works)
    labels[labels::replica_index] = "0";
}

void mount_keys(const TrainingJob& job, json::Value& pod) {
  auto item = [](const char* key, const char* path) {
    return json::Object{{"key", key}, {"path", path}};
  };
  json::Object secret{
      {"secretName", job.name + "-ssh"},
      {"items", json::Array{item("ssh-privatekey", "id_rsa"), item("ssh-publickey", "id_rsa.pub"),
                            item("ssh-publickey", "authorized_keys")}}};
  // sshd refuses root's keys when others can read them; another user could not read them at all.
  if (ssh_path(job) == "/root/.ssh") secret["defaultMode"] = kPrivate;
  framework::add_volume(pod, json::Object{{"name", "ssh-auth"}, {"secret", std::move(secret)}});
  framework::add_mount(first_container(pod),
                       json::Object{{"name", "ssh-auth"}, {"mountPath", ssh_path(job)}});
}

void add_implementation(const TrainingJob& job, json::Object& container) {
  const std::string slots = std::to_string(slots_per_worker(job)), mpi = implementation(job);
  if (mpi == "OpenMPI") {
    append_env(container, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
    append_env(container, "OMPI_MCA_orte_default_hostfile", kHostfile);
    append_env(container, "OMPI_MCA_plm_rsh_args", kSshArguments);
    append_env(container, "OMPI_MCA_orte_set_default_slots", slots);
  } else if (mpi == "Intel") {
    append_env(container, "I_MPI_HYDRA_HOST_FILE", kHostfile);
    append_env(container, "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", kSshArguments);
    append_env(container, "I_MPI_PERHOST", slots);
  } else if (mpi == "MPICH") {
    append_env(container, "HYDRA_HOST_FILE", kHostfile);
    append_env(container, "HYDRA_LAUNCH_EXTRA_ARGS", kSshArguments);
  }
}

void complete_launcher(const TrainingJob& job, json::Value& pod) {
  json::Object& container = first_container(pod);
  append_env(container, "K_MPI_JOB_ROLE", "launcher");
  add_implementation(job, container);
  if (!launcher_works(job)) hide_gpus(container);
  mount_keys(job, pod);
  mount_config(job, pod,
               {config_item("hostfile", kReadable), config_item("discover_hosts.sh", kRunnable)});
}

void complete_worker(const TrainingJob& job, json::Value& pod) {
  json::Object& container = first_container(pod);
  if (!json::array_at(container, {"command"}) && !json::array_at(container, {"args"}))
    container["command"] = json::Array{"/usr/sbin/sshd", "-De"};
  append_env(container, "K_MPI_JOB_ROLE", "worker");
  mount_keys(job, pod);
  json::Value& searches = json::at_path(pod, {"spec", "dnsConfig", "searches"});
  if (!searches.is_array()) searches = json::Array();
  searches.get_array().emplace_back(
      job.name + "." + job.ns + ".svc." +
      (job.options->cluster_domain.empty() ? "cluster.local" : job.options->cluster_domain));
}

void complete(const Place& place, json::Value& pod) {
  const TrainingJob& job = place.job;
  json::Object& spec = pod.at("spec").get_object();
  spec["hostname"] = job.pod_name(place.replica, place.index);
  spec["subdomain"] = job.name;
  if (json::bool_at(pod, {"spec", "hostNetwork"})) spec["dnsPolicy"] = "ClusterFirstWithHostNet";
  place.replica.type == "Launcher" ? complete_launcher(job, pod) : complete_worker(job, pod);
}

const json::Value* true_condition(const framework::AnyObject& job, std::string_view type) {
  if (const json::Array* list = json::array_at(job.status, {"conditions"}))
    for (const json::Value& one : *list)
      if (json::string_at(one, {"type"}) == type && json::string_at(one, {"status"}) == "True")
        return &one;
  return nullptr;
}

// The Job's words; of a back-off limit that was reached also those of the last pod that failed.
void set_failed(JobRound& round, const json::Value& condition,
                const std::vector<framework::PodRef>& pods) {
  std::string reason = json::text_at(condition, {"reason"});
  std::string message = json::text_at(condition, {"message"});
  const model::Pod* last = nullptr;
  for (const framework::PodRef& pod : pods)
    if (pod->status.phase == "Failed" &&
        (!last || *pod->metadata.creationTimestamp.at > *last->metadata.creationTimestamp.at))
      last = pod.get();
  if (reason == "BackoffLimitExceeded" && last) {
    if (!last->status.reason.empty()) reason += "/" + last->status.reason;
    if (!last->status.message.empty()) message += ": " + last->status.message;
  }
  if (reason.empty()) reason = round.reason("Failed");
  round.set_failed_for(reason, message, "Warning");
}

void conclude(JobRound& round) {
  const TrainingJob& job = round.job();
  RoleState& launcher = *round.role("Launcher");
  const RoleState* workers = round.role("Worker");
  const framework::AnyRef live = round.view().child(resources::batch_jobs, launcher_name(job));
  std::vector<framework::PodRef> pods;
  if (live) pods = round.view().controlled_by<model::Pod>(resources::pods, live->metadata.uid);
  for (const framework::PodRef& pod : pods) launcher.active += pod->status.phase == "Running";
  if (live) launcher.failed = static_cast<std::int32_t>(json::int_at(live->status, {"failed"}));
  const json::Value* complete = live ? true_condition(*live, "Complete") : nullptr;
  const json::Value* failed = live ? true_condition(*live, "Failed") : nullptr;
  if (complete) launcher.succeeded = 1;
  round.put_counts();
  if (round.finished()) return;
  if (complete) {
    if (std::string at = json::text_at(live->status, {"completionTime"}); !at.empty())
      round.status()["completionTime"] = at;
    return round.set_succeeded(round.filled(job.kind->words.succeeded));
  }
  if (failed) return set_failed(round, *failed, pods);
  if (const std::int32_t evicted = evicted_workers(round); evicted > 0)
    return round.set_failed_for(
        round.reason("Evicted"),
        std::to_string(evicted) + "/" + std::to_string(workers->wanted) + " workers are evicted",
        "Warning");
  if (launcher.active > 0 && (!workers || workers->active == workers->wanted))
    round.set_running(round.filled(job.kind->words.running));
}

}  // namespace

const TrainingKind mpi_over_ssh{.resource = {"kubeflow.org", "v1", "mpijobs", "MPIJob"},
                                .framework = "mpi",
                                .roles_member = "mpiReplicaSpecs",
                                .roles = {{.name = "Launcher",
                                           .restart = RestartPolicy::on_failure,
                                           .numbered = false,
                                           .pods = false},
                                          {.name = "Worker", .replicas = 0}},
                                .container = "mpi",
                                .services = false,
                                .deciders = {"Launcher"},
                                .words = {.running = "MPIJob {key} is running.",
                                          .succeeded = "MPIJob {key} successfully completed.",
                                          .created = "MPIJob {key} is created.",
                                          .suspended = "MPIJob suspended",
                                          .resumed = "MPIJob resumed"},
                                .waits_for_gang = false,
                                .child_has_limits = true,
                                .is_master = nullptr,
                                .complete = complete,
                                .companions = companions,
                                .owns = owns,
                                .conclude = conclude,
                                .operator_name = "mpi-operator",
                                .label = label};

}  // namespace hekla::controllers::training
