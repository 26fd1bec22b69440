#include "agent/node/node_pods.h"

#include <algorithm>

#include "agent/network/address_pool.h"
#include "base/check.h"

namespace hekla::agent {

void NodePods::add(std::shared_ptr<PodWorker> worker) {
  const auto [at, fresh] = workers_.emplace(worker->record().uid, worker);
  CHECK(fresh, "a pod has one worker");
  worker->start();
}

PodWorker* NodePods::find(const std::string& uid) const {
  auto found = workers_.find(uid);
  return found == workers_.end() ? nullptr : found->second.get();
}

const PodWorker* NodePods::find(const kube::PodRef& pod) const {
  const PodWorker* found = nullptr;
  for (const auto& [uid, worker] : workers_)
    if (worker->record().ns == pod.ns && worker->record().name == pod.name &&
        (pod.uid.empty() || uid == pod.uid))
      found = worker.get();
  return found;
}

std::optional<PodShortage> NodePods::shortage(const AgentPod& pod) const {
  std::vector<const model::PodSpec*> others;
  for (const auto& [uid, worker] : workers_)
    if (uid != pod.metadata.uid && worker->record().outcome.empty())
      others.push_back(&worker->pod()->spec);
  return find_shortage(pod.spec, others, allocatable_);
}

// In the kubelet's words.
std::optional<Refusal> NodePods::resize_refusal(const AgentPod& pod) const {
  const std::optional<PodShortage> lacking = shortage(pod);
  if (!lacking || (lacking->resource != "cpu" && lacking->resource != "memory"))
    return std::nullopt;
  if (lacking->requested <= lacking->capacity) return Refusal{"Deferred", lacking->text()};
  return Refusal{"Infeasible", "Node didn't have enough capacity: " + lacking->resource +
                                   ", requested: " + std::to_string(lacking->requested) +
                                   ", capacity: " + std::to_string(lacking->capacity)};
}

bool NodePods::host_port_taken(const AgentPod& pod) const {
  return std::ranges::any_of(workers_, [&](const auto& entry) {
    const PodWorker& other = *entry.second;
    return other.pod()->metadata.uid != pod.metadata.uid && other.record().outcome.empty() &&
           host_ports_clash(other.pod()->spec, pod.spec);
  });
}

std::vector<std::int32_t> NodePods::gpus_in_use() const {
  std::vector<std::int32_t> used;
  for (const auto& [uid, worker] : workers_) {
    if (!worker->record().outcome.empty()) continue;
    for (const ContainerRecord& container : worker->record().containers)
      if (holds_gpus(container))
        used.insert(used.end(), container.gpus.begin(), container.gpus.end());
  }
  return used;
}

std::vector<std::shared_ptr<const model::Service>> NodePods::services(const std::string& ns) const {
  return services_.in_namespace(ns);
}

bool NodePods::has_claim(const std::string& ns, const std::string& claim) const {
  return std::ranges::any_of(workers_, [&](const auto& entry) {
    const PodWorker& worker = *entry.second;
    return worker.record().ns == ns && worker.record().outcome.empty() &&
           std::ranges::count(claim_names(*worker.pod()), claim) > 0;
  });
}

std::vector<PodAddress> NodePods::addresses() const {
  std::vector<PodAddress> found;
  for (const auto& [uid, worker] : workers_)
    if (auto address = worker->address()) found.push_back(std::move(*address));
  return found;
}

std::vector<HostPort> NodePods::host_ports() const {
  std::vector<HostPort> found;
  for (const auto& [uid, worker] : workers_)
    if (worker->address())
      for (HostPort& one : host_ports_of(worker->pod()->spec, worker->record().address))
        found.push_back(std::move(one));
  return found;
}

std::vector<PolicyInput::Pod> NodePods::policy_pods() const {
  std::vector<PolicyInput::Pod> found;
  for (const auto& [uid, worker] : workers_)
    if (auto address = worker->address())
      found.push_back({ipv4_text(address->address), worker->pod().get()});
  return found;
}

}  // namespace hekla::agent
