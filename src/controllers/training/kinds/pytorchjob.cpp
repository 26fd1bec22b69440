// PyTorchJob: torch.distributed by MASTER_ADDR and its kin, torchrun by PET_*. With elasticPolicy
// the workers meet at a rendezvous, and an autoscaler may change their number.
#include <charconv>

#include "controllers/training/job_round.h"
#include "framework/pods.h"
#include "model/program_image.h"

namespace hekla::controllers::training {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

kube::Resource autoscalers() {
  return {"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"};
}

std::string text_of(const json::Value* value) {
  if (!value || value->is_null()) return {};
  return value->is_string() ? std::string(json::sv(value->get_string())) : json::serialize(*value);
}

// Empty when only the older elasticPolicy.nProcPerNode is given.
std::string processes_per_node(const TrainingJob& job) {
  std::string given = text_of(json::find(job.spec(), "nprocPerNode"));
  if (!given.empty()) return given;
  return json::find_path(job.spec(), {"elasticPolicy", "nProcPerNode"}) ? "" : "auto";
}

std::int64_t world_size(const TrainingJob& job) {
  const std::string text = processes_per_node(job);
  std::int64_t each = 1;
  const char* const end = text.data() + text.size();
  if (auto read = std::from_chars(text.data(), end, each); read.ptr != end || text.empty())
    each = 1;
  return job.total() * each;
}

void add_master(const Place& place, const Replica& master, Variables& out) {
  const std::string port = std::to_string(master.port);
  const std::string address = place.job.pod_name(master, 0);
  const std::int32_t first = place.replica.type == "Master" ? 0 : 1;
  const std::string rank = std::to_string(place.index + first);
  out.insert(out.end(), {{"MASTER_PORT", port},
                         {"PET_MASTER_PORT", port},
                         {"MASTER_ADDR", address},
                         {"PET_MASTER_ADDR", address},
                         {"WORLD_SIZE", std::to_string(world_size(place.job))},
                         {"RANK", rank},
                         {"PET_NODE_RANK", rank}});
}

std::string rendezvous_settings(const json::Array& pairs) {
  std::string text;
  for (const json::Value& one : pairs)
    text += (text.empty() ? "" : ",") + text_of(json::find(one, "key")) + "=" +
            text_of(json::find(one, "value"));
  return text;
}

void add_elastic(const Place& place, const json::Value& policy, Variables& out) {
  const TrainingJob& job = place.job;
  const Replica* worker = job.find("Worker");
  std::string host = json::text_at(policy, {"rdzvHost"});
  if (host.empty() && worker) host = job.pod_name(*worker, 0);
  const std::int64_t port =
      json::int_at(policy, {"rdzvPort"}, worker ? worker->port : job.kind->port);
  std::string backend = json::text_at(policy, {"rdzvBackend"});
  out.emplace_back("PET_RDZV_ENDPOINT", host + ":" + std::to_string(port));
  out.emplace_back("PET_RDZV_BACKEND", backend.empty() ? "c10d" : backend);
  out.emplace_back("PET_NNODES",
                   std::to_string(job.elastic->min) + ":" + std::to_string(job.elastic->max));
  for (const auto& [name, member] :
       {std::pair{"PET_MAX_RESTARTS", "maxRestarts"},
        std::pair{"PET_NPROC_PER_NODE", "nProcPerNode"}, std::pair{"PET_RDZV_ID", "rdzvId"}})
    if (const json::Value* given = json::find(policy, member))
      out.emplace_back(name, text_of(given));
  if (const json::Array* pairs = json::array_at(policy, {"rdzvConf"}); pairs && !pairs->empty())
    out.emplace_back("PET_RDZV_CONF", rendezvous_settings(*pairs));
  // Its presence is the signal.
  if (json::bool_at(policy, {"standalone"})) out.emplace_back("PET_STANDALONE", "");
}

// Waits for the master's name: a Service without a ready pod has none.
json::Array wait_command(const Options& options, const std::string& address) {
  if (options.pytorch_init_image == model::kProgramImage)
    return {model::kProgramPath, "inside",
            "wait-for-name",     json::Value(address),
            "--timeout",         json::Value(std::to_string(2 * options.pytorch_init_tries))};
  const std::string script = "tries=0; until nslookup " + address +
                             "; do tries=$((tries+1)); [ $tries -lt " +
                             std::to_string(options.pytorch_init_tries) +
                             " ] || exit 1; echo waiting for master; sleep 2; done";
  return {"sh", "-c", json::Value(script)};
}

json::Value init_container(const TrainingJob& job, const Replica& master) {
  return json::Object{
      {"name", "init-pytorch"},
      {"image", job.options->pytorch_init_image},
      {"imagePullPolicy", "IfNotPresent"},
      {"command", wait_command(*job.options, job.pod_name(master, 0))},
      {"resources", json::Object{{"limits", json::Object{{"cpu", "100m"}, {"memory", "20Mi"}}},
                                 {"requests", json::Object{{"cpu", "50m"}, {"memory", "10Mi"}}}}}};
}

void complete(const Place& place, json::Value& pod) {
  const TrainingJob& job = place.job;
  const Replica* master = job.find("Master");
  Variables variables{{"PYTHONUNBUFFERED", "1"}};
  if (master) add_master(place, *master, variables);
  if (std::string each = processes_per_node(job); !each.empty())
    variables.emplace_back("PET_NPROC_PER_NODE", each);
  if (job.elastic)
    add_elastic(place, *json::find(job.spec(), "elasticPolicy"), variables);
  else
    variables.emplace_back("PET_NNODES", std::to_string(job.total()));
  framework::for_each_container(pod, false, [&](json::Object& container) {
    for (const auto& [name, value] : variables) append_env(container, name, value);
  });
  if (!master || place.replica.type != "Worker") return;
  json::Value& list = json::at_path(pod, {"spec", "initContainers"});
  if (!list.is_array()) list = json::Array();
  list.get_array().push_back(init_container(job, *master));
}

bool is_master(const TrainingJob& job, const Replica& replica, std::int32_t index) {
  return job.find("Master") ? replica.type == "Master" : replica.type == "Worker" && index == 0;
}

// Elastic workers end together: one that has succeeded speaks for all.
bool succeeded_early(const TrainingJob& job, const RoleState& decider) {
  return decider.replica->type == "Worker" && job.elastic && decider.succeeded > 0;
}

void companions(JobRound& round, Stage stage) {
  const TrainingJob& job = round.job();
  const json::Value* metrics = json::find_path(job.spec(), {"elasticPolicy", "metrics"});
  if (!metrics || metrics->is_null() || stage != Stage::running) {
    if (framework::AnyRef old = round.view().child(autoscalers(), job.name);
        old && !old->metadata.deletionTimestamp)
      round.remove(autoscalers(), old->metadata);
    return;
  }
  round.want(
      autoscalers(),
      json::Object{
          {"metadata", json::Object{{"name", job.name}}},
          {"spec", json::Object{{"scaleTargetRef",
                                 json::Object{{"kind", job.kind->resource.kind},
                                              {"name", job.name},
                                              {"apiVersion", job.kind->resource.api_version()}}},
                                {"minReplicas", job.elastic->min},
                                {"maxReplicas", job.elastic->max},
                                {"metrics", *metrics}}}},
      framework::Care::apply);
}

std::vector<framework::OwnedKind> owns() { return {{.resource = autoscalers(), .optional = true}}; }

const Words without_master{.running = "PyTorchJob {key} is running.",
                           .succeeded = "PyTorchJob {key} successfully completed."};

}  // namespace

extern const TrainingKind training_kind_pytorchjob;
const TrainingKind training_kind_pytorchjob{
    .resource = {"kubeflow.org", "v1", "pytorchjobs", "PyTorchJob"},
    .framework = "pytorch",
    .roles_member = "pytorchReplicaSpecs",
    .roles = {{"Master"}, {"Worker"}},
    .container = "pytorch",
    .port_name = "pytorchjob-port",
    .port = 23456,
    .restart = RestartPolicy::on_failure,
    .scales = true,
    .deciders = {"Master", "Worker"},
    .words = {.running = "PyTorchJob {job} is running.",
              .succeeded = "PyTorchJob {job} is successfully completed.",
              .restarting =
                  "PyTorchJob {job} is restarting because {count} {role} replica(s) failed.",
              .failed = "PyTorchJob {job} is failed because {count} {role} replica(s) failed."},
    .missing_counts = true,
    .old_prefix = "pytorch",
    .is_master = is_master,
    .complete = complete,
    .succeeded_early = succeeded_early,
    .words_without_master = &without_master,
    .companions = companions,
    .owns = owns};

}  // namespace hekla::controllers::training
