#include "controllers/workload/replica_set.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "model/time.h"

namespace hekla::controllers {
namespace {

constexpr std::size_t kBurst = 500;

std::int64_t deletion_cost(const model::Pod& pod) {
  const std::string& text = pod.metadata.annotation("controller.kubernetes.io/pod-deletion-cost");
  std::int64_t cost = 0;
  std::from_chars(text.data(), text.data() + text.size(), cost);
  return cost;
}

int restarts_of(const model::Pod& pod) {
  int most = 0;
  for (const model::ContainerStatus& one : pod.status.containerStatuses)
    most = std::max(most, one.restartCount);
  return most;
}

std::optional<WallTime> ready_since(const model::Pod& pod) {
  for (const model::PodCondition& one : pod.status.conditions)
    if (one.type == "Ready" && one.status == "True") return one.lastTransitionTime.at;
  return std::nullopt;
}

// Whether `a` is given up before `b`.
bool goes_first(const model::Pod& a, const model::Pod& b,
                const std::map<std::string, int>& per_node) {
  auto phase = [](const model::Pod& pod) {
    return pod.status.phase == "Running" ? 2 : pod.status.phase == "Unknown" ? 1 : 0;
  };
  if (a.spec.nodeName.empty() != b.spec.nodeName.empty()) return a.spec.nodeName.empty();
  if (phase(a) != phase(b)) return phase(a) < phase(b);
  if (pod_ready(a) != pod_ready(b)) return !pod_ready(a);
  if (deletion_cost(a) != deletion_cost(b)) return deletion_cost(a) < deletion_cost(b);
  auto beside = [&](const model::Pod& pod) {
    auto found = per_node.find(pod.spec.nodeName);
    return found == per_node.end() ? 0 : found->second;
  };
  if (beside(a) != beside(b)) return beside(a) > beside(b);
  if (pod_ready(a) && ready_since(a) != ready_since(b)) return ready_since(a) > ready_since(b);
  if (restarts_of(a) != restarts_of(b)) return restarts_of(a) > restarts_of(b);
  if (a.metadata.creationTimestamp != b.metadata.creationTimestamp)
    return a.metadata.creationTimestamp.at > b.metadata.creationTimestamp.at;
  return a.metadata.name > b.metadata.name;
}

void scale_pods(const kube::Resource& resource, const Workload& set,
                std::vector<WorkloadPod> active, const std::string* failure,
                std::vector<kube::Write>& writes) {
  auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(0, set.replicas()));
  if (active.size() < wanted) {
    // What was just refused (a quota) is tried with a single pod first.
    std::size_t count = failure ? 1 : std::min(wanted - active.size(), kBurst);
    json::Value pod = pod_from_template(
        set.pod_template(), set.metadata.ns,
        model::controller_reference(resource.api_version(), resource.kind, set.metadata));
    json::at_path(pod, {"metadata", "generateName"}) = set.metadata.name + "-";
    for (std::size_t i = 0; i < count; ++i)
      writes.push_back(create(kube::resources::pods, set.metadata.ns, pod));
    return;
  }
  std::size_t surplus = std::min(active.size() - wanted, kBurst);
  if (surplus == 0) return;
  std::map<std::string, int> per_node;
  for (const WorkloadPod& pod : active) ++per_node[pod->spec.nodeName];
  std::sort(active.begin(), active.end(), [&](const WorkloadPod& a, const WorkloadPod& b) {
    return goes_first(*a, *b, per_node);
  });
  for (std::size_t i = 0; i < surplus; ++i)
    writes.push_back(
        remove(kube::resources::pods, key_of(active[i]->metadata), active[i]->metadata.uid));
}

json::Object replica_set_status(const Workload& set, const std::vector<WorkloadPod>& active,
                                WallTime now, const std::string* failure,
                                std::optional<Nanos>& wait) {
  std::int64_t min_ready = json::int_at(set.spec, {"minReadySeconds"});
  model::Labels labels;
  if (const json::Object* given = json::object_at(set.pod_template(), {"metadata", "labels"}))
    for (const auto& member : *given)
      if (member.value().is_string())
        labels[std::string(member.key())] = json::sv(member.value().get_string());
  model::Selector whole = model::Selector::of(labels);
  std::int64_t labelled = 0, ready = 0, available = 0;
  for (const WorkloadPod& pod : active) {
    labelled += whole.matches(pod->metadata.labels);
    ready += pod_ready(*pod);
    available += pod_available(*pod, min_ready, now, wait);
  }
  json::Object status{{"replicas", static_cast<std::int64_t>(active.size())}};
  put_count(status, "fullyLabeledReplicas", labelled);
  put_count(status, "readyReplicas", ready);
  put_count(status, "availableReplicas", available);
  put_count(status, "observedGeneration", set.metadata.generation);
  json::Array conditions = conditions_of(set);
  const json::Value* old = find_condition(conditions, "ReplicaFailure");
  if (failure && !old)
    conditions.push_back(json::Object{{"type", "ReplicaFailure"},
                                      {"status", "True"},
                                      {"lastTransitionTime", model::format_rfc3339(now)},
                                      {"reason", "FailedCreate"},
                                      {"message", *failure}});
  else if (!failure && old)
    drop_condition(conditions, "ReplicaFailure");
  if (!conditions.empty()) status["conditions"] = std::move(conditions);
  return status;
}

}  // namespace

WorkloadPlan plan_replica_set(const kube::Resource& resource, const Workload& set,
                              const std::vector<WorkloadPod>& pods, WallTime now,
                              const std::string* failure) {
  WorkloadPlan plan;
  std::vector<WorkloadPod> active;
  for (const WorkloadPod& pod : pods)
    if (pod_active(*pod)) active.push_back(pod);
  auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(0, set.replicas()));
  if (active.size() >= wanted) failure = nullptr;
  json::Object status = replica_set_status(set, active, now, failure, plan.again_after);
  if (auto write = status_write(resource, set, status)) plan.writes.push_back(std::move(*write));
  if (!set.metadata.deletionTimestamp)
    scale_pods(resource, set, std::move(active), failure, plan.writes);
  return plan;
}

ReplicaSets::ReplicaSets(WorkloadCaches& caches, kube::Informer<Workload>& sets, std::string name)
    : caches_(caches),
      loop_(caches, sets, std::move(name),
            [this, &sets](const WorkloadRef& set, WallTime now, const std::string* failure) {
              const kube::Resource& resource = sets.resource();
              std::vector<kube::Write> claims;
              auto pods = caches_.claim_pods(*set, resource, claims);
              WorkloadPlan plan = plan_replica_set(resource, *set, pods, now, failure);
              plan.writes.insert(plan.writes.begin(), claims.begin(), claims.end());
              return plan;
            }) {}

}  // namespace hekla::controllers
