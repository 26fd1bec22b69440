// kube::Client over HTTPS to any Kubernetes API server, and the kubeconfig it is made from.
#pragma once

#include <memory>
#include <string>

#include "base/metrics.h"
#include "kube/client.h"
#include "net/client.h"

namespace hekla::kube {

struct ClusterAccess {
  std::string server;  // https://127.0.0.1:6443
  net::ClientOptions http;
  std::string default_namespace = "default";
};

// Reads the current (or the named) context: certificates and tokens inline or as files. Errors name
// the file and the field.
Result<ClusterAccess> load_kubeconfig(const std::string& path, const std::string& context = {});
// Service-account files, for a process that runs in a pod. `server` from KUBERNETES_SERVICE_HOST
// and _PORT works without the cluster's DNS as well.
Result<ClusterAccess> in_cluster_access(
    const std::string& server = "https://kubernetes.default.svc",
    const std::string& directory = "/var/run/secrets/kubernetes.io/serviceaccount");
// The text of a kubeconfig with one cluster, user and context, all inline.
std::string make_kubeconfig(const std::string& name, const std::string& server,
                            const std::string& ca_pem, const KeyPair& client);

// Knowledge of a server's load that the clients of one process share: how many writes may be under
// way, and whose turn it is (rest/flow.h). Counts requests in `metrics`, which may be null; both
// arguments live longer.
class Flow;
std::shared_ptr<Flow> make_flow(const Clock& clock, Metrics* metrics);

// Must be destroyed on the executor, or after it has stopped; callbacks still under way are then
// dropped. A removal that the server answers without the object yields name and uid only; bind and
// evict yield null. A write that was refused because the server is busy (429) is sent again when it
// says so; a binding whose answer did not come is looked up, and has failed only if the pod is on
// no node or on another. Without a `flow` the client has one of its own.
Result<std::unique_ptr<Client>> make_rest_client(const ClusterAccess& access, Executor& executor,
                                                 Identity identity,
                                                 std::shared_ptr<Flow> flow = nullptr);

}  // namespace hekla::kube
