// TFJob: TensorFlow's parameter servers and workers find each other by TF_CONFIG. The chief (or
// master) decides how the job ends; without one all workers do, or the first of them.
#include "controllers/training/training_kind.h"
#include "framework/pods.h"
#include "model/volcano.h"

namespace hekla::controllers::training {
namespace {

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

const Replicas* chief_of(const TrainingJob& job) {
  const Replicas* chief = job.role("Chief");
  return chief ? chief : job.role("Master");
}

std::string tf_config(const TrainingJob& job, const Replicas& role, std::int32_t index) {
  std::map<std::string, json::Array> cluster;
  for (const Replicas& one : job.replicas)
    for (std::int32_t i = 0; i < one.count; ++i)
      cluster[lower(one.role)].emplace_back(job.member_name(one, i) + "." + job.object.metadata.ns +
                                            ".svc:" + std::to_string(one.port));
  json::Object hosts;
  for (auto& [type, addresses] : cluster) hosts[type] = std::move(addresses);
  return json::serialize(
      json::Object{{"cluster", std::move(hosts)},
                   {"task", json::Object{{"type", lower(role.role)}, {"index", index}}},
                   {"environment", "cloud"}});
}

void environment(const TrainingJob& job, const Replicas& role, std::int32_t index,
                 json::Value& pod) {
  if (job.size() == 1) return;
  const std::string config = tf_config(job, role, index);
  framework::for_each_container(pod, false, [&](json::Object& container) {
    if (json::string_at(container, {"name"}) == job.kind.container)
      framework::set_env(container, "TF_CONFIG", json::Value(config));
  });
}

bool is_master(const TrainingJob& job, const Replicas& role, std::int32_t index) {
  const Replicas* chief = chief_of(job);
  return chief ? role.role == chief->role : role.role == "Worker" && index == 0;
}

Standing judge(const TrainingJob& job) {
  Standing standing;
  for (const Replicas& role : job.replicas)
    if (role.failed > 0 && !standing.failed) standing.failed = &role;
  const Replicas* chief = chief_of(job);
  const Replicas* decides = chief ? chief : job.role("Worker");
  if (!decides) return standing;
  standing.running = decides->active > 0;
  standing.succeeded = decides->count == decides->succeeded;
  if (chief || json::string_at(job.object.spec, {"successPolicy"}) == "AllWorkers") return standing;
  auto first = job.pods.find(job.member_name(*decides, 0));
  standing.succeeded |= first != job.pods.end() && first->second == "Succeeded";
  return standing;
}

std::string subject(const TrainingJob& job) {
  return "TFJob " + job.object.metadata.ns + "/" + job.object.metadata.name;
}

}  // namespace

extern const TrainingKind training_kind_tfjob;
const TrainingKind training_kind_tfjob{
    .resource = {"kubeflow.org", "v1", "tfjobs", "TFJob"},
    .replica_map = "tfReplicaSpecs",
    .roles = {{"Chief"}, {"Evaluator"}, {"Master"}, {"PS"}, {"Worker"}},
    .container = "tensorflow",
    .port = {"tfjob-port", 2222},
    .environment = environment,
    .is_master = is_master,
    .judge = judge,
    .subject = subject};

}  // namespace hekla::controllers::training
