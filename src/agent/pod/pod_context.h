// The surroundings that all pod workers of an agent share. Owned by the agent, which outlives its
// workers. Everything is called on the agent's executor.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/gpu/gpu_choice.h"
#include "agent/gpu/gpu_driver.h"
#include "agent/image/image_map.h"
#include "agent/network/policy_gate.h"
#include "agent/pod/pod_machine.h"
#include "agent/pod/pod_shortage.h"
#include "agent/pod/refusal.h"
#include "agent/record/agent_pod.h"
#include "agent/runtime/apparmor.h"
#include "agent/spec/environment.h"
#include "agent/spec/source_fetch.h"
#include "agent/volumes/claim_store.h"
#include "base/metrics.h"
#include "kube/client.h"
#include "kube/events.h"

namespace hekla::agent {

// The rest of the node, as one of its pods has to know it.
class NodeView {
 public:
  virtual ~NodeView() = default;
  // The resource that the node has too little of for a pod that is not here yet.
  virtual std::optional<PodShortage> shortage(const AgentPod& pod) const = 0;
  // Why the node cannot give the pod what its spec asks for now: Deferred or Infeasible.
  virtual std::optional<Refusal> resize_refusal(const AgentPod& pod) const = 0;
  // Another pod of this node has a port of the host's that this one wants.
  virtual bool host_port_taken(const AgentPod& pod) const = 0;
  // The cards that this node's containers hold, once for each container.
  virtual std::vector<std::int32_t> gpus_in_use() const = 0;
  // The services of a namespace, for environment variables.
  virtual std::vector<std::shared_ptr<const model::Service>> services(
      const std::string& ns) const = 0;
};

// The agent, as its workers see it.
class PodObserver {
 public:
  virtual ~PodObserver() = default;
  // A pod's address, phase or readiness has changed: names and rules are to follow.
  virtual void pod_changed() = 0;
  // The pod is erased; its worker may go. Not called from within a worker's own call.
  virtual void pod_gone(const std::string& uid) = 0;
};

struct PodContext {
  kube::Client& client;
  kube::EventRecorder& events;
  PodMachine& machine;
  const NodeView& node;
  PodObserver& observer;
  PolicyGate* policies = nullptr;  // without one, no policy is waited for
  ClaimStore* claims = nullptr;    // without one, pods with claims wait
  Metrics* metrics = nullptr;
  TokenSource token_source;
  ImageMap images;
  ImageMap usual_images;      // for names that `images` says nothing about
  ApiEndpoint api, host_api;  // the second for pods on the host's network
  std::string runtime;        // crun, runc: the one handler of RuntimeClasses that there is
  std::string node_name, host_ip, cluster_domain, dns_address, ca_pem;
  std::string_view launcher;  // of pipeline steps; may be empty
  std::string host_hosts, host_resolv_conf;
  model::ResourceList allocatable;
  std::int64_t machine_memory_bytes = 0;
  std::uint64_t capabilities = ~std::uint64_t{0};  // that this process may give away
  GpuPool gpus;
  GpuDriver gpu_driver;
  AppArmor apparmor;
  bool default_seccomp = false;  // for pods that say nothing of it
};

}  // namespace hekla::agent
