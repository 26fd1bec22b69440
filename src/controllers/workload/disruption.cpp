#include "controllers/workload/disruption.h"

#include <algorithm>

#include "model/time.h"

namespace hekla::controllers {
namespace {

// How long an eviction may take to show as a deletion before the pod counts again.
constexpr Nanos kUnconfirmed = std::chrono::minutes(2);

// Unlike a workload's, an empty selector takes in everything.
std::optional<model::Selector> budget_selector(const Workload& budget) {
  const json::Value* found = json::find(budget.spec, "selector");
  if (!found || !found->is_object()) return std::nullopt;
  Result<model::Selector> parsed = model::Selector::from_label_selector(*found);
  if (!parsed) return std::nullopt;
  return std::move(*parsed);
}

bool is_percentage(const json::Value* value) { return value && value->is_string(); }

json::Array disruption_conditions(const Workload& budget, bool allowed, std::string_view reason,
                                  const std::string& message, WallTime now) {
  json::Array conditions = conditions_of(budget);
  std::string stamp = model::format_rfc3339(now);
  if (const json::Value* old = find_condition(conditions, "DisruptionAllowed");
      old && json::string_at(*old, {"status"}) == (allowed ? "True" : "False"))
    stamp = json::string_at(*old, {"lastTransitionTime"});
  drop_condition(conditions, "DisruptionAllowed");
  conditions.push_back(json::Object{{"type", "DisruptionAllowed"},
                                    {"status", allowed ? "True" : "False"},
                                    {"observedGeneration", budget.metadata.generation},
                                    {"lastTransitionTime", stamp},
                                    {"reason", reason},
                                    {"message", message}});
  return conditions;
}

// Evictions not yet seen as deletions, by pod.
json::Object unconfirmed_evictions(const Workload& budget, const std::vector<WorkloadPod>& pods,
                                   WallTime now, std::optional<Nanos>& wait) {
  json::Object kept;
  const json::Object* noted = json::object_at(budget.status, {"disruptedPods"});
  if (!noted) return kept;
  for (const WorkloadPod& pod : pods) {
    const json::Value* at = json::find(*noted, pod->metadata.name);
    if (!at || !at->is_string() || pod->metadata.deletionTimestamp) continue;
    Result<WallTime> since = model::parse_rfc3339(json::sv(at->get_string()));
    if (!since || *since + kUnconfirmed <= now) continue;
    wake_in(wait, *since + kUnconfirmed - now);
    kept[pod->metadata.name] = *at;
  }
  return kept;
}

// The merge patch from the old status; only for the very revision that was looked at, because
// evictions write there too.
std::optional<kube::Write> budget_write(const Workload& budget, json::Object wanted) {
  if (const json::Object* old = json::object_at(budget.status, {"disruptedPods"})) {
    json::Value& now = wanted["disruptedPods"];
    if (!now.is_object()) now.emplace_object();
    for (const auto& one : *old)
      if (!now.get_object().contains(one.key())) now.get_object()[one.key()] = nullptr;
  }
  std::optional<kube::Write> write =
      status_write(kube::resources::pod_disruption_budgets, budget, wanted);
  if (write)
    json::at_path(write->body, {"metadata", "resourceVersion"}) = budget.metadata.resourceVersion;
  return write;
}

bool counts_differently(const model::Pod& a, const model::Pod& b) {
  return pod_ready(a) != pod_ready(b) || a.metadata.labels != b.metadata.labels ||
         a.metadata.deletionTimestamp != b.metadata.deletionTimestamp;
}

}  // namespace

json::Object disruption_status(const Workload& budget, const std::vector<WorkloadPod>& pods,
                               const Result<std::int64_t>& scale, WallTime now,
                               std::optional<Nanos>& wait) {
  const json::Value* min = json::find(budget.spec, "minAvailable");
  const json::Value* max = json::find(budget.spec, "maxUnavailable");
  const bool by_scale = (max && !max->is_null()) || is_percentage(min);
  if (by_scale && !scale) {
    json::Object failed;
    if (budget.status.is_object()) failed = budget.status.get_object();
    failed["disruptionsAllowed"] = 0;
    failed["observedGeneration"] = budget.metadata.generation;
    failed["conditions"] =
        disruption_conditions(budget, false, "SyncFailed", scale.error().message, now);
    return failed;
  }
  std::int64_t expected = by_scale ? *scale : static_cast<std::int64_t>(pods.size());
  std::int64_t desired = 0;
  if (max && !max->is_null())
    desired = std::max<std::int64_t>(0, expected - int_or_percent(max, expected, true, 0));
  else
    desired = int_or_percent(min, expected, true, 0);
  json::Object evicted = unconfirmed_evictions(budget, pods, now, wait);
  std::int64_t healthy = 0;
  for (const WorkloadPod& pod : pods)
    healthy += !pod->metadata.deletionTimestamp && !evicted.contains(pod->metadata.name) &&
               pod_ready(*pod);
  std::int64_t allowed = expected > 0 ? std::max<std::int64_t>(0, healthy - desired) : 0;
  json::Object status{{"observedGeneration", budget.metadata.generation},
                      {"disruptionsAllowed", allowed},
                      {"currentHealthy", healthy},
                      {"desiredHealthy", desired},
                      {"expectedPods", expected}};
  if (!evicted.empty()) status["disruptedPods"] = std::move(evicted);
  status["conditions"] = disruption_conditions(
      budget, allowed > 0, allowed > 0 ? "SufficientPods" : "InsufficientPods", "", now);
  return status;
}

DisruptionBudgets::DisruptionBudgets(WorkloadCaches& caches)
    : caches_(caches),
      events_(caches.client, "controllermanager"),
      budgets_(caches.client, kube::resources::pod_disruption_budgets),
      loop_(
          caches.client, kube::ReconcileOptions{.name = "disruption"},
          [this](const kube::Key& key, WallTime now) { return round(key, now); },
          [this](const kube::Write& write, const kube::ObjectPtr& result) {
            overlay(budgets_, write, result);
          }) {
  budgets_.on_change([this](const WorkloadRef& before, const WorkloadRef& after) {
    loop_.add(key_of((after ? after : before)->metadata));
  });
  caches_.pods.on_change(
      [this](const WorkloadPod& before, const WorkloadPod& after) { pod_changed(before, after); });
  for (kube::Informer<Workload>* owners :
       {&caches_.deployments, &caches_.replica_sets, &caches_.stateful_sets})
    owners->on_change([this](const WorkloadRef& before, const WorkloadRef& after) {
      owner_changed(before, after);
    });
  caches_.on_synced([this] {
    if (budgets_.synced()) loop_.enable();
  });
  budgets_.on_settled([this] {
    if (budgets_.synced() && caches_.synced()) loop_.enable();
  });
}

void DisruptionBudgets::pod_changed(const WorkloadPod& before, const WorkloadPod& after) {
  if (before && after && !counts_differently(*before, *after)) return;
  const std::string& ns = (after ? after : before)->metadata.ns;
  for (const WorkloadRef& budget : budgets_.in_namespace(ns)) {
    std::optional<model::Selector> selector = budget_selector(*budget);
    if (!selector) continue;
    if ((before && selector->matches(before->metadata.labels)) ||
        (after && selector->matches(after->metadata.labels)))
      loop_.add(key_of(budget->metadata));
  }
}

// The number of pods an owner wants is part of the reckoning.
void DisruptionBudgets::owner_changed(const WorkloadRef& before, const WorkloadRef& after) {
  if (before && after && before->replicas() == after->replicas()) return;
  const std::string& ns = (after ? after : before)->metadata.ns;
  for (const WorkloadRef& budget : budgets_.in_namespace(ns)) loop_.add(key_of(budget->metadata));
}

Result<std::int64_t> DisruptionBudgets::scale_of(const std::vector<WorkloadPod>& pods,
                                                 bool& unmanaged) const {
  std::map<std::string, std::int64_t> scales;  // by the owner's uid
  for (const WorkloadPod& pod : pods) {
    const model::OwnerReference* owner = pod->metadata.controller();
    if (!owner) {
      unmanaged = true;
      continue;
    }
    auto find = [&](const kube::Informer<Workload>& owners,
                    const model::OwnerReference& reference) -> WorkloadRef {
      WorkloadRef found = owners.get({pod->metadata.ns, reference.name});
      return found && found->metadata.uid == reference.uid ? found : nullptr;
    };
    WorkloadRef found;
    if (owner->kind == "ReplicaSet" && owner->apiVersion.starts_with("apps/")) {
      found = find(caches_.replica_sets, *owner);
      const model::OwnerReference* above = found ? found->metadata.controller() : nullptr;
      if (above && above->kind == "Deployment") found = find(caches_.deployments, *above);
    } else if (owner->kind == "StatefulSet" && owner->apiVersion.starts_with("apps/")) {
      found = find(caches_.stateful_sets, *owner);
    } else {
      std::string plural = owner->kind + "s";
      std::transform(plural.begin(), plural.end(), plural.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      std::size_t slash = owner->apiVersion.find('/');
      if (slash != std::string::npos) plural += "." + owner->apiVersion.substr(0, slash);
      return fail(Code::invalid, plural + " does not implement the scale subresource");
    }
    if (!found)
      return fail(Code::not_found, "found no controllers for pod \"" + pod->metadata.name + "\"");
    scales[found->metadata.uid] = found->replicas();
  }
  std::int64_t total = 0;
  for (const auto& [uid, replicas] : scales) total += replicas;
  return total;
}

kube::Round DisruptionBudgets::round(const kube::Key& key, WallTime now) {
  kube::Round round;
  WorkloadRef budget = budgets_.get(key);
  if (!budget || budget->metadata.deletionTimestamp) return round;
  std::vector<WorkloadPod> pods;
  if (std::optional<model::Selector> selector = budget_selector(*budget))
    for (WorkloadPod& pod : caches_.pods.in_namespace(key.ns))
      if (selector->matches(pod->metadata.labels)) pods.push_back(std::move(pod));
  bool unmanaged = false;
  Result<std::int64_t> scale = scale_of(pods, unmanaged);
  json::Object status = disruption_status(*budget, pods, scale, now, round.again_after);
  if (std::optional<kube::Write> write = budget_write(*budget, std::move(status)))
    round.writes.push_back(std::move(*write));
  if (round.writes.empty()) return round;
  const kube::Resource& resource = kube::resources::pod_disruption_budgets;
  kube::EventTarget target{resource.api_version(), resource.kind, key.ns, key.name,
                           budget->metadata.uid};
  if (pods.empty()) events_.record(target, "Normal", "NoPods", "No matching pods found");
  const bool by_owner = json::find(budget->spec, "maxUnavailable") ||
                        is_percentage(json::find(budget->spec, "minAvailable"));
  if (!scale && by_owner)
    events_.record(target, "Warning", "CalculateExpectedPodCountFailed",
                   "Failed to calculate the number of expected pods: " + scale.error().message);
  else if (unmanaged && by_owner)
    events_.record(
        target, "Warning", "UnmanagedPods",
        "Pods selected by this PodDisruptionBudget (selector: " + budget_selector(*budget)->text() +
            ") were found to be unmanaged. As a result, the status of the PDB cannot be calculated "
            "correctly, which may result in undefined behavior. To account for these pods please "
            "set \".spec.minAvailable\" field of the PDB to an integer value.");
  return round;
}

}  // namespace hekla::controllers
