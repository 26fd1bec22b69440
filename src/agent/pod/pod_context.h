// What all pod workers of an agent share. Owned by the agent, which outlives its workers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/gpu/gpu_choice.h"
#include "agent/gpu/gpu_driver.h"
#include "agent/image/image_map.h"
#include "agent/pod/pod_machine.h"
#include "agent/pod/pod_shortage.h"
#include "agent/record/agent_pod.h"
#include "agent/runtime/apparmor.h"
#include "agent/spec/environment.h"
#include "agent/spec/source_fetch.h"
#include "agent/volumes/claim_store.h"
#include "base/metrics.h"
#include "kube/client.h"
#include "kube/events.h"

namespace hekla::agent {

struct PodContext {
  kube::Client& client;
  kube::EventRecorder& events;
  PodMachine& machine;
  ImageMap images;
  TokenSource token_source;
  ApiEndpoint api, host_api;  // the second for pods on the host's network
  std::string runtime;        // crun, runc: the one handler of RuntimeClasses that there is
  std::string node_name, host_ip, cluster_domain, dns_address, ca_pem;
  std::string host_hosts, host_resolv_conf;
  model::ResourceList allocatable;
  std::int64_t machine_memory_bytes = 0;
  std::uint64_t capabilities = ~std::uint64_t{0};  // that this process may give away
  Metrics* metrics = nullptr;
  ClaimStore* claims = nullptr;  // without one, pods with claims wait
  GpuPool gpus;
  GpuDriver gpu_driver;
  AppArmor apparmor;
  bool default_seccomp = false;  // for pods that say nothing of it
  // The cards that this node's containers hold.
  std::function<std::vector<std::int32_t>()> gpus_in_use;
  // Calls back when the network policies that select the pod hold for it.
  std::function<void(const AgentPod& pod, Done<void> done)> await_policies;
  // What the node has too little of for a pod that is not here yet.
  std::function<std::optional<PodShortage>(const AgentPod& pod)> shortage;
  // Another pod of this node has a port of the host's that this one wants.
  std::function<bool(const AgentPod& pod)> host_port_taken;
  // Why the node cannot give the pod what its spec asks for now: Deferred or Infeasible, and the
  // words.
  std::function<std::optional<std::pair<std::string, std::string>>(const AgentPod& pod)>
      resize_refusal;
  // The services of a namespace, for environment variables.
  std::function<std::vector<const model::Service*>(const std::string& ns)> services;
  // The pod's address or readiness has changed: DNS is to follow.
  std::function<void()> on_change;
  // Nothing of the pod is left; its worker may go. Not called from within a worker's own call.
  std::function<void(const std::string& uid)> on_gone;
};

}  // namespace hekla::agent
