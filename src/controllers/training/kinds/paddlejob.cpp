// PaddleJob: collective training when there are only workers, parameter servers when there is a
// Master. Whoever is first offers its own address, all others are told its name.
#include "controllers/training/job_round.h"
#include "framework/pods.h"

namespace hekla::controllers::training {
namespace {

void complete(const Place& place, json::Value& pod) {
  const TrainingJob& job = place.job;
  const Replica* master = job.find("Master");
  const Replica* head = master ? master : job.find("Worker");
  if (!head) return;
  const bool is_head = &place.replica == head && place.index == 0;
  const std::string port = ":" + std::to_string(head->port);
  framework::for_each_container(pod, false, [&](json::Object& container) {
    append_env(container, "PYTHONUNBUFFERED", "1");
    append_env(container, "PADDLE_JOB_ID", job.name);
    append_env(container, "PADDLE_NNODES", std::to_string(job.total()));
    if (is_head) append_env_field(container, "POD_IP_DUMMY", "status.podIP");
    append_env(container, "PADDLE_MASTER",
               (is_head ? "$(POD_IP_DUMMY)" : job.pod_name(*head, 0)) + port);
    if (!master) return;
    const bool server = place.replica.type == "Master";
    append_env(container, server ? "PADDLE_SERVER_NUM" : "PADDLE_TRAINER_NUM", "1");
  });
}

// Without a Master the first worker: upstream labels none, and SDKs then find no log.
bool is_master(const TrainingJob& job, const Replica& replica, std::int32_t index) {
  return job.find("Master") ? replica.type == "Master" : replica.type == "Worker" && index == 0;
}

const Words without_master{.running = "PaddleJob {key} is running.",
                           .succeeded = "PaddleJob {key} successfully completed."};

}  // namespace

extern const TrainingKind training_kind_paddlejob;
const TrainingKind training_kind_paddlejob{
    .resource = {"kubeflow.org", "v1", "paddlejobs", "PaddleJob"},
    .framework = "paddle",
    .roles_member = "paddleReplicaSpecs",
    .roles = {{"Master"}, {"Worker"}},
    .container = "paddle",
    .port_name = "master",
    .port = 36543,
    .restart = RestartPolicy::on_failure,
    .scales = true,
    .deciders = {"Master", "Worker"},
    .words = {.running = "PaddleJob {job} is running.",
              .succeeded = "PaddleJob {job} is successfully completed.",
              .restarting =
                  "PaddleJob {job} is restarting because {count} {role} replica(s) failed.",
              .failed = "PaddleJob {job} is failed because {count} {role} replica(s) failed."},
    .missing_counts = true,
    .is_master = is_master,
    .complete = complete,
    .words_without_master = &without_master};

}  // namespace hekla::controllers::training
