#include "controllers/workload/replica_set.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "model/time.h"

namespace hekla::controllers {
namespace {

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

void scale_pods(const AnyObject& set, std::vector<PodRef> active, Outcome& outcome) {
  auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(0, replicas_of(set)));
  if (active.size() < wanted) {
    auto base = std::make_shared<json::Value>(pod_from_template(template_of(set)));
    json::at_path(*base, {"metadata", "generateName"}) = set.metadata.name + "-";
    const std::size_t missing = std::min(wanted - active.size(), owned_pods().burst);
    for (std::size_t i = 0; i < missing; ++i)
      outcome.children.push_back({.resource = kube::resources::pods,
                                  .body = json::Object(),
                                  .base = base,
                                  .care = Care::create_once});
    return;
  }
  std::size_t surplus = std::min(active.size() - wanted, owned_pods().burst);
  if (surplus == 0) return;
  std::map<std::string, int> per_node;
  for (const PodRef& pod : active) ++per_node[pod->spec.nodeName];
  std::sort(active.begin(), active.end(),
            [&](const PodRef& a, const PodRef& b) { return goes_first(*a, *b, per_node); });
  for (std::size_t i = 0; i < surplus; ++i)
    outcome.removals.push_back(removal_of(kube::resources::pods, active[i]->metadata));
}

json::Object replica_set_status(const AnyObject& set, const std::vector<PodRef>& active,
                                WallTime now, const std::string* failure,
                                std::optional<Nanos>& wait) {
  std::int64_t min_ready = json::int_at(set.spec, {"minReadySeconds"});
  model::Labels labels;
  if (const json::Object* given = json::object_at(template_of(set), {"metadata", "labels"}))
    for (const auto& member : *given)
      if (member.value().is_string())
        labels[std::string(member.key())] = json::sv(member.value().get_string());
  model::Selector whole = model::Selector::of(labels);
  std::int64_t labelled = 0, ready = 0, available = 0;
  for (const PodRef& pod : active) {
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

Outcome reconcile_replica_set(const AnyObject& set, const View& view) {
  Outcome outcome;
  std::vector<PodRef> active;
  for (const PodRef& pod : view.pods())
    if (pod_active(*pod)) active.push_back(pod);
  auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(0, replicas_of(set)));
  const std::string* failure = active.size() >= wanted ? nullptr : view.refusal();
  outcome.status = replica_set_status(set, active, view.now(), failure, outcome.again_after);
  if (!set.metadata.deletionTimestamp) scale_pods(set, std::move(active), outcome);
  return outcome;
}

}  // namespace

KindDescription replica_set_kind(const kube::Resource& resource, const std::string& name) {
  return {.name = name + "-controller",
          .resource = resource,
          .owns = {owned_pods()},
          .reconcile = reconcile_replica_set,
          .reconcile_terminating = true};
}

}  // namespace hekla::controllers
