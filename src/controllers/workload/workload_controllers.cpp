#include "controllers/workload/workload_controllers.h"

#include "controllers/workload/autoscaler.h"
#include "controllers/workload/batch_job.h"
#include "controllers/workload/cron_job.h"
#include "controllers/workload/daemon_set.h"
#include "controllers/workload/deployment.h"
#include "controllers/workload/disruption.h"
#include "controllers/workload/replica_set.h"
#include "controllers/workload/stateful_set.h"
#include "framework/kind_controller.h"

namespace hekla::controllers {

struct WorkloadControllers::State {
  KindController replica_sets, replication_controllers, deployments, jobs, cron_jobs, stateful_sets,
      daemon_sets;
  OrphanedJobPods orphans;
  DisruptionBudgets budgets;
  Autoscalers autoscalers;

  explicit State(kube::CacheSet& caches)
      : replica_sets(caches, replica_set_kind(kube::resources::replica_sets, "replicaset")),
        replication_controllers(
            caches, replica_set_kind(workload_resources::replication_controllers, "replication")),
        deployments(caches, deployment_kind()),
        jobs(caches, batch_job_kind()),
        cron_jobs(caches, cron_job_kind()),
        stateful_sets(caches, stateful_set_kind()),
        daemon_sets(caches, daemon_set_kind()),
        orphans(caches),
        budgets(caches),
        autoscalers(caches) {}
};

WorkloadControllers::WorkloadControllers(kube::CacheSet& caches)
    : state_(std::make_unique<State>(caches)) {}

WorkloadControllers::~WorkloadControllers() = default;

}  // namespace hekla::controllers
