// JAXJob: workers alone; the first of them coordinates. The program passes the variables on to
// jax.distributed.initialize.
#include "controllers/training/job_round.h"
#include "framework/pods.h"

namespace hekla::controllers::training {
namespace {

void complete(const Place& place, json::Value& pod) {
  const TrainingJob& job = place.job;
  framework::for_each_container(pod, false, [&](json::Object& container) {
    append_env(container, "PYTHONUNBUFFERED", "1");
    append_env(container, "COORDINATOR_PORT", std::to_string(place.replica.port));
    append_env(container, "COORDINATOR_ADDRESS", job.pod_name(place.replica, 0));
    append_env(container, "NUM_PROCESSES", std::to_string(job.total()));
    append_env(container, "PROCESS_ID", std::to_string(place.index));
  });
}

bool is_master(const TrainingJob&, const Replica&, std::int32_t index) { return index == 0; }

}  // namespace

extern const TrainingKind training_kind_jaxjob;
const TrainingKind training_kind_jaxjob{
    .resource = {"kubeflow.org", "v1", "jaxjobs", "JAXJob"},
    .framework = "jax",
    .roles_member = "jaxReplicaSpecs",
    .roles = {{"Worker"}},
    .container = "jax",
    .port_name = "jaxjob-port",
    .port = 6666,
    .scales = true,
    .deciders = {"Worker"},
    .words = {.running = "JAXJob {key} is running.",
              .succeeded = "JAXJob {key} successfully completed.",
              .restarting = "JAXJob {job} is restarting because {count} {role} replica(s) failed.",
              .failed = "JAXJob {job} is failed because {count} {role} replica(s) failed."},
    .missing_counts = true,
    .is_master = is_master,
    .complete = complete};

}  // namespace hekla::controllers::training
