#include "controllers/workload/workload_controllers.h"

#include "controllers/workload/batch_job.h"
#include "controllers/workload/cron_job.h"
#include "controllers/workload/daemon_set.h"
#include "controllers/workload/deployment.h"
#include "controllers/workload/replica_set.h"
#include "controllers/workload/stateful_set.h"

namespace hekla::controllers {

struct WorkloadControllers::State {
  WorkloadCaches caches;
  ReplicaSets replica_sets;
  Deployments deployments;
  BatchJobs jobs;
  CronJobs cron_jobs;
  StatefulSets stateful_sets;
  DaemonSets daemon_sets;

  explicit State(kube::Client& client)
      : caches(client),
        replica_sets(caches),
        deployments(caches),
        jobs(caches),
        cron_jobs(caches),
        stateful_sets(caches),
        daemon_sets(caches) {}
};

WorkloadControllers::WorkloadControllers(kube::Client& client)
    : state_(std::make_unique<State>(client)) {}

WorkloadControllers::~WorkloadControllers() = default;

void WorkloadControllers::start() { state_->caches.start(); }

}  // namespace hekla::controllers
