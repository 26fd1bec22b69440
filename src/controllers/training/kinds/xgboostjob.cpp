// XGBoostJob: Rabit's master and its workers, with the addresses LightGBM asks for beside them.
#include "controllers/training/job_round.h"
#include "framework/pods.h"

namespace hekla::controllers::training {
namespace {

void complete(const Place& place, json::Value& pod) {
  const TrainingJob& job = place.job;
  const Replica* master = job.find("Master");
  const Replica* worker = job.find("Worker");
  if (!master) return;
  const std::int32_t world = job.total();
  const std::int32_t rank = place.index + (place.replica.type == "Worker" ? master->replicas : 0);
  std::string workers;
  for (std::int32_t i = 0; worker && i < world - 1; ++i)
    workers += (i == 0 ? "" : ",") + job.pod_name(*worker, i);
  framework::for_each_container(pod, false, [&](json::Object& container) {
    append_env(container, "MASTER_PORT", std::to_string(master->port));
    append_env(container, "MASTER_ADDR", job.pod_name(*master, 0));
    append_env(container, "WORLD_SIZE", std::to_string(world));
    append_env(container, "RANK", std::to_string(rank));
    append_env(container, "PYTHONUNBUFFERED", "1");
    if (world <= 1) return;
    append_env(container, "WORKER_PORT", std::to_string(worker ? worker->port : job.kind->port));
    append_env(container, "WORKER_ADDRS", workers);
  });
}

bool is_master(const TrainingJob&, const Replica& replica, std::int32_t) {
  return replica.type == "Master";
}

}  // namespace

extern const TrainingKind training_kind_xgboostjob;
const TrainingKind training_kind_xgboostjob{
    .resource = {"kubeflow.org", "v1", "xgboostjobs", "XGBoostJob"},
    .framework = "xgboost",
    .roles_member = "xgbReplicaSpecs",
    .roles = {{"Master"}, {"Worker"}},
    .container = "xgboost",
    .port_name = "xgboostjob-port",
    .port = 9999,
    .deciders = {"Master"},
    .words = {.running = "XGBoostJob {job} is running.",
              .succeeded = "XGBoostJob {job} is successfully completed.",
              .restarting =
                  "XGBoostJob {job} is restarting because {count} {role} replica(s) failed.",
              .failed = "XGBoostJob {job} is failed because {count} {role} replica(s) failed."},
    .always_ran = true,
    .is_master = is_master,
    .complete = complete};

}  // namespace hekla::controllers::training
