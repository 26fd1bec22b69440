// What kube-controller-manager does, as one component on shared caches: Kubernetes' own workloads,
// endpoints, storage in use, resource claims, ephemeral volumes, the health of nodes, and the
// housekeeping of an API server: garbage collection, namespaces, expiry of events, aggregated
// roles, certificates, the status of quotas.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/crypto.h"
#include "kube/client.h"

namespace hekla::controllers {

// Lives on the client's executor: constructed, started and destroyed there, or while it does not
// run.
class ClusterControllers {
 public:
  struct Options {
    // Silent nodes become Unknown, taints evict pods, pods of vanished nodes are removed.
    bool look_after_nodes = false;
    // The kinds that are served, for the housekeeping; null: there is none.
    kube::Discovery* discovery = nullptr;
    std::string root_ca_pem = {};    // what pods trust: every namespace has it
    std::optional<KeyPair> ca = {};  // signs certificate requests; none: nobody does
  };
  ClusterControllers(kube::Client& client, Options options);
  explicit ClusterControllers(kube::Client& client);
  ~ClusterControllers();

  void start();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hekla::controllers
