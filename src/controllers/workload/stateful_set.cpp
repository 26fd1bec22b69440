#include "controllers/workload/stateful_set.h"

#include <algorithm>

namespace hekla::controllers {
namespace {

class StatefulRound {
 public:
  StatefulRound(const StatefulView& view, WallTime now, Outcome outcome)
      : view_(view), now_(now), plan_(std::move(outcome)) {
    const json::Value& spec = view.set.spec;
    first_ = json::int_at(spec, {"ordinals", "start"});
    end_ = first_ + replicas_of(view.set);
    in_order_ = json::string_at(spec, {"podManagementPolicy"}) != "Parallel";
    rolling_ = json::string_at(spec, {"updateStrategy", "type"}) != "OnDelete";
    partition_ = first_ + json::int_at(spec, {"updateStrategy", "rollingUpdate", "partition"});
    min_ready_ = json::int_at(spec, {"minReadySeconds"});
    auto deletes = [&](std::string_view when) {
      return json::string_at(spec, {"persistentVolumeClaimRetentionPolicy", when}) == "Delete";
    };
    delete_with_set_ = deletes("whenDeleted");
    delete_when_scaled_ = deletes("whenScaled");
  }

  Outcome plan() {
    if (!view_.set.metadata.deletionTimestamp && fill() && shrink()) update();
    write_status();
    return std::move(plan_);
  }

 private:
  bool fill();
  bool shrink();
  void update();
  void write_status();
  void make(std::int64_t ordinal);
  void keep_claims(std::int64_t ordinal);
  bool give_claims_to(std::int64_t ordinal, const model::Pod& pod);
  void own_claim(const AnyObject& claim, const model::OwnerReference* owner);
  bool healthy(const model::Pod& pod) {
    return pod.status.phase == "Running" && !pod.metadata.deletionTimestamp &&
           pod_available(pod, min_ready_, now_, plan_.again_after);
  }
  void drop(const model::Pod& pod) {
    plan_.removals.push_back(removal_of(kube::resources::pods, pod.metadata));
  }
  static const std::string& revision_of(const model::Pod& pod) {
    return pod.metadata.label("controller-revision-hash");
  }

  const StatefulView& view_;
  WallTime now_;
  Outcome plan_;
  std::int64_t first_ = 0, end_ = 0, partition_ = 0, min_ready_ = 0;
  bool in_order_ = true, rolling_ = true, delete_with_set_ = false, delete_when_scaled_ = false;
};

void StatefulRound::own_claim(const AnyObject& claim, const model::OwnerReference* owner) {
  json::Array owners;
  bool has = false;
  for (const model::OwnerReference& one : claim.metadata.ownerReferences) {
    bool ours = (one.kind == "StatefulSet" && one.uid == view_.set.metadata.uid) ||
                (one.kind == "Pod" && ordinal_of(view_.set.metadata.name, one.name) >= 0);
    if (owner && one.uid == owner->uid) has = true;
    if (!ours || (owner && one.uid == owner->uid)) owners.push_back(json::encode(one));
  }
  if (owner && !has) owners.push_back(json::encode(*owner));
  if (owners.size() == claim.metadata.ownerReferences.size() && (!owner || has)) return;
  plan_.edits.push_back(
      {kube::resources::persistent_volume_claims, key_of(claim.metadata),
       json::Object{{"metadata", json::Object{{"ownerReferences", std::move(owners)}}}}});
}

void StatefulRound::keep_claims(std::int64_t ordinal) {
  model::OwnerReference owner{
      "apps/v1", "StatefulSet", view_.set.metadata.name, view_.set.metadata.uid, {}, {}};
  for (auto& [name, body] : claims_of(view_.set, ordinal)) {
    if (AnyRef claim = view_.claim(name)) {
      own_claim(*claim, delete_with_set_ ? &owner : nullptr);
      continue;
    }
    json::Value made = body;
    if (delete_with_set_)
      json::at_path(made, {"metadata", "ownerReferences"}) = json::Array{json::encode(owner)};
    Child child = once(kube::resources::persistent_volume_claims, std::move(made));
    child.ownership = Ownership::none;
    plan_.children.push_back(std::move(child));
  }
}

// Before a pod goes for good its claims are made to go with it. True when they are.
bool StatefulRound::give_claims_to(std::int64_t ordinal, const model::Pod& pod) {
  if (!delete_when_scaled_) return true;
  std::size_t before = plan_.edits.size();
  model::OwnerReference owner{"v1", "Pod", pod.metadata.name, pod.metadata.uid, {}, {}};
  for (const auto& [name, body] : claims_of(view_.set, ordinal))
    if (AnyRef claim = view_.claim(name)) own_claim(*claim, &owner);
  return plan_.edits.size() == before;
}

void StatefulRound::make(std::int64_t ordinal) {
  keep_claims(ordinal);
  const TemplateRevision& revision =
      rolling_ && ordinal < partition_ ? view_.current : view_.update;
  plan_.children.push_back(
      once(kube::resources::pods, new_stateful_pod(view_.set, ordinal, revision)));
}

// Makes what is missing. True when every pod is there and, in order, works.
bool StatefulRound::fill() {
  bool complete = true;
  for (std::int64_t i = first_; i < end_; ++i) {
    auto found = view_.pods.find(i);
    if (found == view_.pods.end()) {
      make(i);
      complete = false;
    } else {
      const model::Pod& pod = *found->second;
      if (pod_finished(pod) && !pod.metadata.deletionTimestamp) {
        plan_.tell("Warning", "RecreatingFailedPod",
                   "StatefulSet " + view_.set.metadata.ns + "/" + view_.set.metadata.name +
                       " is recreating failed Pod " + pod.metadata.name);
        drop(pod);
        complete = false;
      } else {
        keep_claims(i);
        if (healthy(pod)) continue;
        if (!in_order_) continue;
        complete = false;
      }
    }
    if (in_order_) return false;
  }
  return complete;
}

// Takes away what is too many, the highest ordinal first.
bool StatefulRound::shrink() {
  bool complete = true;
  for (auto it = view_.pods.rbegin(); it != view_.pods.rend(); ++it) {
    auto [ordinal, pod] = *it;
    if (ordinal >= first_ && ordinal < end_) continue;
    complete = false;
    if (!pod->metadata.deletionTimestamp && give_claims_to(ordinal, *pod)) drop(*pod);
    if (in_order_) return false;
  }
  return complete;
}

// One pod at a time (or maxUnavailable of them), from the highest ordinal down to the partition.
void StatefulRound::update() {
  if (!rolling_) return;
  const json::Value* given =
      json::find_path(view_.set.spec, {"updateStrategy", "rollingUpdate", "maxUnavailable"});
  std::int64_t budget =
      std::max<std::int64_t>(1, int_or_percent(given, replicas_of(view_.set), true, 1));
  for (std::int64_t i = end_ - 1; i >= std::max(first_, partition_); --i) {
    auto found = view_.pods.find(i);
    if (found == view_.pods.end()) continue;
    const model::Pod& pod = *found->second;
    bool stale = revision_of(pod) != view_.update.name;
    if (!stale && healthy(pod)) continue;
    if (stale && !pod.metadata.deletionTimestamp) drop(pod);
    if (--budget <= 0) return;
  }
}

void StatefulRound::write_status() {
  std::int64_t replicas = 0, ready = 0, available = 0, current = 0, updated = 0;
  for (const auto& [ordinal, pod] : view_.pods) {
    ++replicas;
    bool up = pod->status.phase == "Running" && pod_ready(*pod);
    ready += up;
    available += up && healthy(*pod);
    if (pod->metadata.deletionTimestamp || pod_finished(*pod)) continue;
    current += revision_of(*pod) == view_.current.name;
    updated += revision_of(*pod) == view_.update.name;
  }
  std::string current_name = view_.current.name;
  if (rolling_ && updated == replicas && ready == replicas && replicas == replicas_of(view_.set)) {
    current_name = view_.update.name;
    current = updated;
  }
  json::Object status{{"replicas", replicas},
                      {"availableReplicas", available},
                      {"currentRevision", current_name},
                      {"updateRevision", view_.update.name},
                      {"collisionCount", 0}};
  put_count(status, "readyReplicas", ready);
  put_count(status, "currentReplicas", current);
  put_count(status, "updatedReplicas", updated);
  put_count(status, "observedGeneration", view_.set.metadata.generation);
  plan_.status = std::move(status);
}

Outcome reconcile_stateful_set(const AnyObject& set, const View& seen) {
  Outcome outcome;
  std::vector<RevisionRef> known =
      seen.children<ControllerRevision>(workload_resources::controller_revisions);
  StatefulView view{set, {}, {}, {}, {}};
  std::set<std::string> used;
  for (const PodRef& pod : seen.pods()) {
    std::int64_t ordinal = ordinal_of(set.metadata.name, pod->metadata.name);
    if (ordinal >= 0) view.pods[ordinal] = pod;
    used.insert(pod->metadata.label("controller-revision-hash"));
  }
  view.update = current_template_revision(set, known, outcome);
  std::string current(json::string_at(set.status, {"currentRevision"}));
  view.current = find_template_revision(known, current).value_or(view.update);
  view.claim = [&](const std::string& name) {
    return seen.find(kube::resources::persistent_volume_claims, {set.metadata.ns, name});
  };
  used.insert({view.update.name, view.current.name});
  if (!set.metadata.deletionTimestamp) trim_revisions(set, known, used, outcome);
  return StatefulRound(view, seen.now(), std::move(outcome)).plan();
}

// A StatefulSet has its own words for what it does to its pods.
OwnedKind owned_ordinals() {
  OwnedKind pods = owned_pods();
  const EventText failed{"Warning", "FailedCreate",
                         "create Pod {name} in StatefulSet {owner} failed error: {error}"};
  pods.slow_start = false;
  pods.words = {.created = {{"Normal", "SuccessfulCreate",
                             "create Pod {name} in StatefulSet {owner} successful"}},
                .create_failed = failed,
                .removed = {{"Normal", "SuccessfulDelete",
                             "delete Pod {name} in StatefulSet {owner} successful"}},
                .taken = failed};
  pods.adoptable = [](const AnyObject& set, const model::ObjectMeta& pod) {
    return ordinal_of(set.metadata.name, pod.name) >= 0;
  };
  return pods;
}

}  // namespace

KindDescription stateful_set_kind() {
  return {.name = "statefulset-controller",
          .resource = kube::resources::stateful_sets,
          .owns = {owned_ordinals(),
                   owned_revisions(),
                   {.resource = kube::resources::persistent_volume_claims, .wakes = false}},
          .reconcile = reconcile_stateful_set,
          .reconcile_terminating = true};
}

}  // namespace hekla::controllers
