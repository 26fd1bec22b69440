#include "controllers/cluster_controllers.h"

#include "controllers/cluster/certificate_signer.h"
#include "controllers/cluster/endpoints.h"
#include "controllers/cluster/ephemeral_volumes.h"
#include "controllers/cluster/event_expiry.h"
#include "controllers/cluster/garbage_collector.h"
#include "controllers/cluster/namespaces.h"
#include "controllers/cluster/pod_removal.h"
#include "controllers/cluster/quota_status.h"
#include "controllers/cluster/resource_claims.h"
#include "controllers/cluster/role_aggregation.h"
#include "controllers/cluster/storage_protection.h"
#include "controllers/workload/workload_controllers.h"
#include "framework/kind_controller.h"

namespace hekla::controllers {
namespace {

// What an API server without a controller manager would miss first.
struct Housekeeping {
  GarbageCollector garbage;
  Namespaces namespaces;
  EventExpiry events;
  RoleAggregation roles;
  QuotaStatus quotas;
  std::optional<CertificateSigner> certificates;

  Housekeeping(kube::CacheSet& caches, const ClusterControllers::Options& options)
      : garbage(caches.client(), *options.discovery),
        namespaces(caches.client(), *options.discovery, options.root_ca_pem),
        events(caches.client()),
        roles(caches),
        quotas(caches.client(), *options.discovery) {
    if (options.ca) certificates.emplace(caches.client(), *options.ca);
  }

  void start() {
    if (certificates) certificates->start();
    quotas.start();
    garbage.start();
    namespaces.start();
    events.start();
  }
};

}  // namespace

struct ClusterControllers::Parts {
  kube::CacheSet caches;
  WorkloadControllers workloads;
  StorageProtection storage;
  ResourceClaims resource_claims;
  KindController ephemeral_volumes;
  Endpoints endpoints;
  std::optional<NodeHealth> nodes;
  std::optional<PodRemoval> removal;
  std::optional<Housekeeping> housekeeping;

  Parts(kube::Client& client, const Options& options)
      : caches(client),
        workloads(caches),
        storage(caches),
        resource_claims(caches),
        ephemeral_volumes(caches, ephemeral_volume_kind()),
        endpoints(caches) {
    if (options.look_after_nodes) {
      nodes.emplace(caches);
      removal.emplace(caches, *nodes);
    }
    if (options.discovery) housekeeping.emplace(caches, options);
  }
};

ClusterControllers::ClusterControllers(kube::Client& client, Options options)
    : parts_(std::make_unique<Parts>(client, options)) {}

ClusterControllers::ClusterControllers(kube::Client& client)
    : ClusterControllers(client, Options{}) {}

ClusterControllers::~ClusterControllers() = default;

void ClusterControllers::start() {
  parts_->caches.start();
  if (parts_->removal) parts_->removal->start();
  if (parts_->housekeeping) parts_->housekeeping->start();
}

}  // namespace hekla::controllers
