// MXJob: MXNet's scheduler, servers and workers by DMLC_*, and TVM's tuners by MX_CONFIG, as the
// Training Operator did until 1.6. Any role that has succeeded ends the job.
#include <map>

#include "controllers/training/job_round.h"
#include "framework/pods.h"

namespace hekla::controllers::training {
namespace {

constexpr std::string_view kTunerKey = "tuner-server-key";  // annotation of a role's template

std::string mx_config(const Place& place) {
  std::map<std::string, json::Array> sorted;
  std::map<std::string, std::string> keys;
  for (const Replica& one : place.job.replicas) {
    json::Array& hosts = sorted[one.lower];
    for (std::int32_t i = 0; i < one.replicas; ++i)
      hosts.push_back(json::Object{{"url", place.job.pod_name(one, i)}, {"port", one.port}});
    keys[one.lower] = json::string_at(*one.pod_template, {"metadata", "annotations", kTunerKey});
  }
  json::Object cluster, labels;
  for (auto& [type, hosts] : sorted) cluster[type] = std::move(hosts);
  for (const auto& [type, key] : keys) labels[type] = key;
  return json::serialize(
      json::Object{{"cluster", std::move(cluster)},
                   {"labels", std::move(labels)},
                   {"task", json::Object{{"type", place.replica.lower}, {"index", place.index}}}});
}

void complete(const Place& place, json::Value& pod) {
  const TrainingJob& job = place.job;
  const Replica* scheduler = job.find("Scheduler");
  auto count = [&](std::string_view type) {
    const Replica* role = job.find(type);
    return std::to_string(role ? role->replicas : 0);
  };
  const std::string config = mx_config(place);
  framework::for_each_container(pod, false, [&](json::Object& container) {
    append_env(container, "MX_CONFIG", config);
    append_env(container, "DMLC_PS_ROOT_PORT", std::to_string(scheduler ? scheduler->port : 0));
    append_env(container, "DMLC_PS_ROOT_URI", scheduler ? job.pod_name(*scheduler, 0) : "");
    append_env(container, "DMLC_NUM_SERVER", count("Server"));
    append_env(container, "DMLC_NUM_WORKER", count("Worker"));
    append_env(container, "DMLC_ROLE", place.replica.lower);
    append_env(container, "DMLC_USE_KUBERNETES", "1");
    if (place.replica.type == "Worker")
      append_env(container, "DMLC_WORKER_ID", std::to_string(place.index));
  });
}

bool is_master(const TrainingJob&, const Replica& replica, std::int32_t) {
  return replica.type == "Server";
}

}  // namespace

extern const TrainingKind training_kind_mxjob;
const TrainingKind training_kind_mxjob{
    .resource = {"kubeflow.org", "v1", "mxjobs", "MXJob"},
    .framework = "mxnet",
    .roles_member = "mxReplicaSpecs",
    .roles = {{"Scheduler"}, {"Server"}, {"Worker"}, {"TunerTracker"}, {"TunerServer"}, {"Tuner"}},
    .container = "mxnet",
    .port_name = "mxjob-port",
    .port = 9091,
    .words = {.running = "MXJob {job} is running.",
              .succeeded = "MXJob {job} is successfully completed.",
              .restarting = "MXJob {job} is restarting because {count} {role} replica(s) failed.",
              .failed = "MXJob {job} is failed because {count} {role} replica(s) failed."},
    .is_master = is_master,
    .complete = complete};

}  // namespace hekla::controllers::training
