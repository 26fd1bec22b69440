#include "controllers/workload/disruption.h"

#include <algorithm>

#include "model/time.h"

namespace hekla::controllers {
namespace {

// How long an eviction may take to show as a deletion before the pod counts again.
constexpr Nanos kUnconfirmed = std::chrono::minutes(2);

// Unlike a workload's, an empty selector takes in everything.
std::optional<model::Selector> budget_selector(const AnyObject& budget) {
  const json::Value* found = json::find(budget.spec, "selector");
  if (!found || !found->is_object()) return std::nullopt;
  Result<model::Selector> parsed = model::Selector::from_label_selector(*found);
  if (!parsed) return std::nullopt;
  return std::move(*parsed);
}

bool is_percentage(const json::Value* value) { return value && value->is_string(); }

json::Array disruption_conditions(const AnyObject& budget, bool allowed, std::string_view reason,
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
json::Object unconfirmed_evictions(const AnyObject& budget, const std::vector<PodRef>& pods,
                                   WallTime now, std::optional<Nanos>& wait) {
  json::Object kept;
  const json::Object* noted = json::object_at(budget.status, {"disruptedPods"});
  if (!noted) return kept;
  for (const PodRef& pod : pods) {
    const json::Value* at = json::find(*noted, pod->metadata.name);
    if (!at || !at->is_string() || pod->metadata.deletionTimestamp) continue;
    Result<WallTime> since = model::parse_rfc3339(json::sv(at->get_string()));
    if (!since || *since + kUnconfirmed <= now) continue;
    wake_in(wait, *since + kUnconfirmed - now);
    kept[pod->metadata.name] = *at;
  }
  return kept;
}

// Only for the very revision that was looked at, because evictions write there too.
std::optional<kube::Write> budget_write(const AnyObject& budget, json::Object wanted) {
  if (json::object_at(budget.status, {"disruptedPods"}) && !wanted.contains("disruptedPods"))
    wanted["disruptedPods"] = json::Object();
  std::optional<kube::Write> write = status_write(kube::resources::pod_disruption_budgets,
                                                  key_of(budget.metadata), budget.status, wanted);
  if (write)
    json::at_path(write->body, {"metadata", "resourceVersion"}) = budget.metadata.resourceVersion;
  return write;
}

bool counts_differently(const model::Pod& a, const model::Pod& b) {
  return pod_ready(a) != pod_ready(b) || a.metadata.labels != b.metadata.labels ||
         a.metadata.deletionTimestamp != b.metadata.deletionTimestamp;
}

}  // namespace

json::Object disruption_status(const AnyObject& budget, const std::vector<PodRef>& pods,
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
  for (const PodRef& pod : pods)
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

DisruptionBudgets::DisruptionBudgets(kube::CacheSet& caches)
    : events_(caches.client(), "controllermanager"),
      pods_(caches.of<model::Pod>(kube::resources::pods)),
      budgets_(caches.of<AnyObject>(kube::resources::pod_disruption_budgets)),
      deployments_(caches.of<AnyObject>(kube::resources::deployments)),
      replica_sets_(caches.of<AnyObject>(kube::resources::replica_sets)),
      stateful_sets_(caches.of<AnyObject>(kube::resources::stateful_sets)),
      loop_(caches, {.name = "disruption"},
            [this](const kube::Key& key, WallTime now) { return round(key, now); }) {
  budgets_.on_change([this](const AnyRef& before, const AnyRef& after) {
    loop_.add(key_of((after ? after : before)->metadata));
  });
  pods_.on_change(
      [this](const PodRef& before, const PodRef& after) { pod_changed(before, after); });
  for (kube::Informer<AnyObject>* owners : {&deployments_, &replica_sets_, &stateful_sets_})
    owners->on_change(
        [this](const AnyRef& before, const AnyRef& after) { owner_changed(before, after); });
  caches.on_synced([this] { loop_.enable(); });
}

void DisruptionBudgets::pod_changed(const PodRef& before, const PodRef& after) {
  if (before && after && !counts_differently(*before, *after)) return;
  const std::string& ns = (after ? after : before)->metadata.ns;
  for (const AnyRef& budget : budgets_.in_namespace(ns)) {
    std::optional<model::Selector> selector = budget_selector(*budget);
    if (!selector) continue;
    if ((before && selector->matches(before->metadata.labels)) ||
        (after && selector->matches(after->metadata.labels)))
      loop_.add(key_of(budget->metadata));
  }
}

// The number of pods an owner wants is part of the reckoning.
void DisruptionBudgets::owner_changed(const AnyRef& before, const AnyRef& after) {
  if (before && after && replicas_of(*before) == replicas_of(*after)) return;
  const std::string& ns = (after ? after : before)->metadata.ns;
  for (const AnyRef& budget : budgets_.in_namespace(ns)) loop_.add(key_of(budget->metadata));
}

Result<std::int64_t> DisruptionBudgets::scale_of(const std::vector<PodRef>& pods,
                                                 bool& unmanaged) const {
  std::map<std::string, std::int64_t> scales;  // by the owner's uid
  for (const PodRef& pod : pods) {
    const model::OwnerReference* owner = pod->metadata.controller();
    if (!owner) {
      unmanaged = true;
      continue;
    }
    auto find = [&](const kube::Informer<AnyObject>& owners,
                    const model::OwnerReference& reference) -> AnyRef {
      AnyRef found = owners.get({pod->metadata.ns, reference.name});
      return found && found->metadata.uid == reference.uid ? found : nullptr;
    };
    AnyRef found;
    if (owner->kind == "ReplicaSet" && owner->apiVersion.starts_with("apps/")) {
      found = find(replica_sets_, *owner);
      const model::OwnerReference* above = found ? found->metadata.controller() : nullptr;
      if (above && above->kind == "Deployment") found = find(deployments_, *above);
    } else if (owner->kind == "StatefulSet" && owner->apiVersion.starts_with("apps/")) {
      found = find(stateful_sets_, *owner);
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
    scales[found->metadata.uid] = replicas_of(*found);
  }
  std::int64_t total = 0;
  for (const auto& [uid, replicas] : scales) total += replicas;
  return total;
}

kube::Round DisruptionBudgets::round(const kube::Key& key, WallTime now) {
  kube::Round round;
  AnyRef budget = budgets_.get(key);
  if (!budget || budget->metadata.deletionTimestamp) return round;
  std::vector<PodRef> pods;
  if (std::optional<model::Selector> selector = budget_selector(*budget))
    for (PodRef& pod : pods_.in_namespace(key.ns))
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
