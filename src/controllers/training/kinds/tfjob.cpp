// TFJob: TensorFlow by TF_CONFIG, as the Training Operator 1.9 does it for v1, and as tutorials of
// its alpha and beta versions expect it for those: bare hosts, TF_CONFIG in every pod, no evaluator
// in the cluster. A TensorBoard role runs beside the others.
#include <map>

#include "controllers/training/job_round.h"
#include "framework/pods.h"

namespace hekla::controllers::training {
namespace {

// "false": the evaluator is in no cluster, as TensorFlow 2 wants it; "true": it is.
const std::string kEvaluatorAnnotation = "hekla.io/tf-config-evaluator";

bool is_old(const TrainingJob& job) { return job.version != "v1"; }

bool in_cluster(const TrainingJob& job, const Replica& replica) {
  if (replica.bystander) return false;
  if (replica.type != "Evaluator") return true;
  const std::string& chosen = job.object->metadata.annotation(kEvaluatorAnnotation);
  return chosen.empty() ? !is_old(job) : chosen == "true";
}

std::string endpoint(const TrainingJob& job, const Replica& replica, std::int32_t index) {
  std::string host = job.pod_name(replica, index);
  if (!is_old(job)) {
    host += "." + job.ns + ".svc";
    if (!job.options->cluster_domain.empty()) host += "." + job.options->cluster_domain;
  }
  return host + ":" + std::to_string(replica.port);
}

json::Array endpoints(const TrainingJob& job, const Replica& replica) {
  json::Array all;
  for (std::int32_t i = 0; i < replica.replicas; ++i) all.emplace_back(endpoint(job, replica, i));
  return all;
}

// Workers that come and go know the parameter servers and themselves, nobody else.
json::Object sparse_cluster(const Place& place) {
  json::Object worker;
  json::Array servers;
  if (place.replica.type == "Worker") {
    worker[std::to_string(place.index)] = endpoint(place.job, place.replica, place.index);
    if (const Replica* ps = place.job.find("PS")) servers = endpoints(place.job, *ps);
  } else if (place.replica.type == "PS") {
    servers.emplace_back(endpoint(place.job, place.replica, place.index));
  }
  return {{"worker", std::move(worker)}, {"ps", std::move(servers)}};
}

std::string tf_config(const Place& place) {
  const json::Object task{{"type", place.replica.lower}, {"index", place.index}};
  if (json::bool_at(place.job.spec(), {"enableDynamicWorker"}))
    return json::serialize(json::Object{{"cluster", sparse_cluster(place)}, {"task", task}});
  std::map<std::string, json::Array> sorted;
  for (const Replica& one : place.job.replicas)
    if (in_cluster(place.job, one)) sorted[one.lower] = endpoints(place.job, one);
  json::Object cluster;
  for (auto& [type, hosts] : sorted) cluster[type] = std::move(hosts);
  return json::serialize(
      json::Object{{"cluster", std::move(cluster)}, {"task", task}, {"environment", "cloud"}});
}

void complete(const Place& place, json::Value& pod) {
  const bool distributed = place.job.total() != 1;
  if (!distributed && !is_old(place.job)) return;
  const std::string config = tf_config(place);
  framework::for_each_container(pod, false, [&](json::Object& container) {
    if (json::string_at(container, {"name"}) == place.job.kind->container)
      append_env(container, "TF_CONFIG", config);
  });
}

bool has_chief(const TrainingJob& job) { return job.find("Chief") || job.find("Master"); }

bool is_master(const TrainingJob& job, const Replica& replica, std::int32_t index) {
  if (has_chief(job)) return replica.type == "Chief" || replica.type == "Master";
  return replica.type == "Worker" && index == 0;
}

// Unless all workers are asked for, the first one speaks for them.
bool succeeded_early(const TrainingJob& job, const RoleState& decider) {
  return decider.replica->type == "Worker" && decider.completed.contains(0) &&
         json::string_at(job.spec(), {"successPolicy"}) != "AllWorkers";
}

bool tolerates(const TrainingJob& job, const Replica& replica) {
  return replica.type == "Worker" && json::bool_at(job.spec(), {"enableDynamicWorker"});
}

}  // namespace

extern const TrainingKind training_kind_tfjob;
const TrainingKind training_kind_tfjob{
    .resource = {"kubeflow.org", "v1", "tfjobs", "TFJob"},
    .framework = "tensorflow",
    .roles_member = "tfReplicaSpecs",
    .roles = {{"Chief"},
              {"Evaluator"},
              {"Master"},
              {"PS"},
              {"Worker"},
              {.name = "TensorBoard", .bystander = true, .port_name = "tb-port", .port = 6006}},
    .container = "tensorflow",
    .port_name = "tfjob-port",
    .port = 2222,
    .deciders = {"Chief", "Master", "Worker"},
    .words = {.running = "TFJob {key} is running.",
              .succeeded = "TFJob {key} successfully completed.",
              .restarting = "TFJob {key} is restarting because {count} {role} replica(s) failed.",
              .failed = "TFJob {key} has failed because {count} {role} replica(s) failed."},
    .on_failed = OnFailed::fail,
    .old_prefix = "tf",
    .is_master = is_master,
    .complete = complete,
    .succeeded_early = succeeded_early,
    .tolerates = tolerates};

}  // namespace hekla::controllers::training
