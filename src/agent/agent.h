// The node agent: runs the pods bound to this machine, as a kubelet does. Needs root, if only a
// namespace's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/pressure/eviction.h"
#include "agent/pressure/image_gc.h"
#include "agent/spec/environment.h"
#include "agent/spec/source_fetch.h"
#include "base/metrics.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/pod_streams.h"
#include "model/quantity.h"
#include "net/listener.h"

namespace hekla::agent {

// The StorageClass that a node makes at its start.
json::Value local_path_class();

struct Options {
  std::string data_dir;
  std::string node_name;               // empty: the machine's host name in lower case
  std::vector<std::string> image_map;  // mappings or files of them (image/image_map.h)
  std::vector<std::string> insecure_registries, registry_mirrors;  // "HOST", "HOST=URL"
  std::vector<std::string> registry_authorities;                   // "HOST=FILE"
  model::ResourceList node_resources;  // declared beside or instead of what the machine has
  std::string runtime;  // crun, runc or a path; empty: crun, or runc where that is missing
  EvictionFlags eviction;
  ImageGcOptions image_gc;
  bool outside = true;  // pods may reach the world outside, where pasta is installed
  bool link_local =
      false;  // and 169.254.0.0/16 there, which gives cloud machines' credentials away
  std::string resolv_conf = "/etc/resolv.conf";  // name servers of the outside
  std::int64_t pod_max_pids = 0;                 // 0: no limit beside that of each container
  int gpu_replicas = 1;                          // containers that may share one GPU
  bool default_seccomp = false;                  // RuntimeDefault for pods that say nothing of it
  std::string api_host;  // where pods find the API server; empty: they are not told
  std::uint16_t api_port = 443;
  ApiEndpoint host_api;            // the same for pods on the host's network
  std::string ca_pem;              // the API server's, until the kube-root-ca.crt ConfigMap exists
  std::string_view launcher = {};  // the program that runs pipeline steps in pods
  std::string pod_cidr = "10.244.0.0/16";
  std::string service_cidr = "10.96.0.0/16";
  std::string cluster_domain = "cluster.local";
  bool protect_from_oom = false;  // the kernel ends this process and monitors after all pods
  std::vector<std::string> hidden_paths;  // never shown to pods: kubeconfigs and the like
  bool announced = false;  // leaves word of its data directory for other instances of this machine
  // Without one, projected service-account tokens are left out of their volumes.
  TokenSource token_source;
};

class Agent {
  struct Private {};
  struct State;

 public:
  // Blocks: opens namespaces and network, finds the pods of an earlier process. One sentence when
  // it cannot work here (not root, a tool is missing). `metrics` may be null and outlives the
  // agent.
  static Result<std::unique_ptr<Agent>> create(Options options, kube::Client& client,
                                               Metrics* metrics);
  Agent(Private, std::shared_ptr<State> state);
  // Without shutdown() pods are left running for the next process to adopt. Destroyed on a thread
  // other than the client's executor, or after that has ended.
  ~Agent();

  // From any thread: registers the node, watches pods and services.
  void start();

  kube::PodStreams& streams();
  // Once: a socket in the pods' network at which the kubernetes service arrives, listening.
  net::Socket take_api_socket();
  // A socket that pods reach at gateway_address() and this port, listening. From any thread.
  Result<net::Socket> listen_for_pods(std::uint16_t port);
  std::string gateway_address() const;
  // A connection to an address of the network that pods are in. From any thread.
  void forward_to(const std::string& address, std::uint16_t port,
                  std::shared_ptr<kube::ForwardClient> client,
                  kube::PodStreams::ForwardReady ready);
  const std::string& node_name() const;

  // From any thread. Stops working. keep_pods: containers run on, to be adopted by the next start;
  // otherwise every pod gets its grace period and is reported as terminated by a node shutdown, and
  // nothing of the agent is left on the machine. `done` runs on the executor.
  void shutdown(bool keep_pods, std::move_only_function<void()> done);

 private:
  std::shared_ptr<State> state_;
};

}  // namespace hekla::agent
