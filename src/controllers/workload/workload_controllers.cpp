#include "controllers/workload/workload_controllers.h"

#include "controllers/cluster/endpoints.h"
#include "controllers/cluster/ephemeral_volumes.h"
#include "controllers/cluster/pod_removal.h"
#include "controllers/cluster/resource_claims.h"
#include "controllers/cluster/storage_protection.h"
#include "controllers/workload/autoscaler.h"
#include "controllers/workload/batch_job.h"
#include "controllers/workload/cron_job.h"
#include "controllers/workload/daemon_set.h"
#include "controllers/workload/deployment.h"
#include "controllers/workload/disruption.h"
#include "controllers/workload/replica_set.h"
#include "controllers/workload/stateful_set.h"

namespace hekla::controllers {

struct WorkloadControllers::State {
  WorkloadCaches caches;
  ReplicaSets replica_sets, replication_controllers;
  Deployments deployments;
  BatchJobs jobs;
  CronJobs cron_jobs;
  StatefulSets stateful_sets;
  DaemonSets daemon_sets;
  DisruptionBudgets budgets;
  Autoscalers autoscalers;
  StorageProtection storage;
  ResourceClaims resource_claims;
  EphemeralVolumes ephemeral_volumes;
  Endpoints endpoints;
  std::optional<NodeHealth> nodes;
  std::optional<PodRemoval> removal;

  State(kube::Client& client, const Options& options)
      : caches(client),
        replica_sets(caches, caches.replica_sets, "replicaset"),
        replication_controllers(caches, caches.replication_controllers, "replication"),
        deployments(caches),
        jobs(caches),
        cron_jobs(caches),
        stateful_sets(caches),
        daemon_sets(caches),
        budgets(caches),
        autoscalers(caches),
        storage(caches),
        resource_claims(caches),
        ephemeral_volumes(caches),
        endpoints(client, caches.pods) {
    if (!options.look_after_nodes) return;
    nodes.emplace(caches);
    removal.emplace(caches, *nodes);
  }
};

WorkloadControllers::WorkloadControllers(kube::Client& client, Options options)
    : state_(std::make_unique<State>(client, options)) {}

WorkloadControllers::~WorkloadControllers() = default;

void WorkloadControllers::start() {
  state_->caches.start();
  state_->budgets.start();
  state_->autoscalers.start();
  state_->storage.start();
  state_->resource_claims.start();
  state_->endpoints.start();
  if (!state_->nodes) return;
  state_->nodes->start();
  state_->removal->start();
}

}  // namespace hekla::controllers
