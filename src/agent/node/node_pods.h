// The pods of this node: their workers, and what they mean for each other. Lives on the agent's
// executor.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/network/host_ports.h"
#include "agent/network/policy_rules.h"
#include "agent/pod/worker/pod_worker.h"
#include "kube/informer.h"
#include "kube/pod_streams.h"

namespace hekla::agent {

class NodePods final : public NodeView {
 public:
  using Workers = std::map<std::string, std::shared_ptr<PodWorker>>;  // by uid

  // `services` outlives this; `allocatable` is what all pods together may have.
  NodePods(const kube::Informer<model::Service>& services, model::ResourceList allocatable)
      : services_(services), allocatable_(std::move(allocatable)) {}

  // Takes the worker in and starts it.
  void add(std::shared_ptr<PodWorker> worker);
  void remove(const std::string& uid) { workers_.erase(uid); }
  void clear() { workers_.clear(); }
  // By reference for those that look on; a worker may go while one acts, so act on a copy.
  const Workers& workers() const { return workers_; }
  bool empty() const { return workers_.empty(); }
  // Null when there is none.
  PodWorker* find(const std::string& uid) const;
  // The pod of that name; of that uid, too, if one is given.
  const PodWorker* find(const kube::PodRef& pod) const;

  std::optional<PodShortage> shortage(const AgentPod& pod) const override;
  std::optional<Refusal> resize_refusal(const AgentPod& pod) const override;
  bool host_port_taken(const AgentPod& pod) const override;
  std::vector<std::int32_t> gpus_in_use() const override;
  std::vector<std::shared_ptr<const model::Service>> services(const std::string& ns) const override;

  // A pod that still runs here has the claim.
  bool has_claim(const std::string& ns, const std::string& claim) const;
  // Of pods that have one.
  std::vector<PodAddress> addresses() const;
  // Ports of the host that lead to pods.
  std::vector<HostPort> host_ports() const;
  std::vector<PolicyInput::Pod> policy_pods() const;

 private:
  const kube::Informer<model::Service>& services_;
  model::ResourceList allocatable_;
  Workers workers_;
};

}  // namespace hekla::agent
