#include "controllers/workload/deployment.h"

#include <algorithm>

namespace hekla::controllers {
namespace {

const std::string kRevision = "deployment.kubernetes.io/revision";
const std::string kHistory = "deployment.kubernetes.io/revision-history";
const std::string kDesired = "deployment.kubernetes.io/desired-replicas";
const std::string kMost = "deployment.kubernetes.io/max-replicas";
const std::string kHashLabel = "pod-template-hash";

// Annotations of the Deployment that its sets do not get.
bool own_annotation(std::string_view name) {
  return name == "kubectl.kubernetes.io/last-applied-configuration" || name == kRevision ||
         name == kHistory || name == kDesired || name == kMost ||
         name == "deprecated.deployment.rollback.to";
}

json::Object size_annotations(const Rollout& rollout) {
  return {{kDesired, std::to_string(rollout.wanted())},
          {kMost, std::to_string(rollout.wanted() + rollout.max_surge())}};
}

std::int64_t next_revision(const Rollout& rollout) {
  std::int64_t last = 0;
  for (const RolloutSet& set : rollout.old) last = std::max(last, set.revision());
  return last + 1;
}

json::Value new_replica_set(const Rollout& rollout, const std::string& hash) {
  const AnyObject& deployment = rollout.deployment;
  json::Value pod_template = template_of(deployment);
  json::at_path(pod_template, {"metadata", "labels", kHashLabel}) = hash;
  json::Value selector = *json::find(deployment.spec, "selector");
  json::at_path(selector, {"matchLabels", kHashLabel}) = hash;
  json::Object annotations = size_annotations(rollout);
  for (const auto& [name, value] : deployment.metadata.annotations)
    if (!own_annotation(name)) annotations[name] = value;
  annotations[kRevision] = std::to_string(next_revision(rollout));
  json::Value labels = json::at_path(pod_template, {"metadata", "labels"});
  json::Object spec{{"replicas", current_set_size(rollout, 0)},
                    {"selector", std::move(selector)},
                    {"template", std::move(pod_template)}};
  put_count(spec, "minReadySeconds", json::int_at(deployment.spec, {"minReadySeconds"}));
  return json::Object{{"metadata", json::Object{{"name", deployment.metadata.name + "-" + hash},
                                                {"labels", std::move(labels)},
                                                {"annotations", std::move(annotations)}}},
                      {"spec", std::move(spec)}};
}

// Annotations the current set should have and does not.
json::Object stale_annotations(const Rollout& rollout) {
  const model::ObjectMeta& set = rollout.current->object->metadata;
  json::Object stale;
  for (const auto& [name, value] : rollout.deployment.metadata.annotations)
    if (!own_annotation(name) && set.annotation(name) != value) stale[name] = value;
  std::int64_t revision = rollout.current->revision(), next = next_revision(rollout);
  if (revision < next) {
    stale[kRevision] = std::to_string(next);
    if (revision > 0) {
      std::string history = set.annotation(kHistory);
      stale[kHistory] = history + (history.empty() ? "" : ",") + std::to_string(revision);
    }
  }
  return stale;
}

void note_scaled(const RolloutSet& set, std::int64_t before, Outcome& plan) {
  if (set.replicas == before) return;
  std::string direction = set.replicas > before ? "up" : "down";
  plan.tell("Normal", "ScalingReplicaSet",
            "Scaled " + direction + " replica set " + set.object->metadata.name + " from " +
                std::to_string(before) + " to " + std::to_string(set.replicas));
}

// Writes whatever of `rollout` differs from the sets as they are.
void write_sets(const Rollout& rollout, Outcome& plan) {
  json::Object sizes = size_annotations(rollout);
  auto write = [&](const RolloutSet& set, json::Object annotations) {
    bool sized = set.replicas != replicas_of(*set.object);
    bool annotate = set.replicas > 0;
    for (const auto& size : sizes)
      if ((annotate || sized) && set.object->metadata.annotation(std::string(size.key())) !=
                                     json::sv(size.value().get_string()))
        annotations[size.key()] = size.value();
    json::Object patch, spec;
    if (!annotations.empty())
      patch["metadata"] = json::Object{{"annotations", std::move(annotations)}};
    if (sized) spec["replicas"] = set.replicas;
    std::int64_t min_ready = json::int_at(rollout.deployment.spec, {"minReadySeconds"});
    if (rollout.current && set.object == rollout.current->object &&
        json::int_at(set.object->spec, {"minReadySeconds"}) != min_ready)
      spec["minReadySeconds"] = min_ready;
    if (!spec.empty()) patch["spec"] = std::move(spec);
    if (patch.empty()) return;
    note_scaled(set, replicas_of(*set.object), plan);
    plan.edits.push_back(
        {kube::resources::replica_sets, key_of(set.object->metadata), std::move(patch)});
  };
  if (rollout.current) write(*rollout.current, stale_annotations(rollout));
  for (const RolloutSet& set : rollout.old) write(set, {});
}

// Through the status, as upstream does: a change of annotations counts in metadata.generation
// otherwise.
void annotate_revision(const AnyObject& deployment, const std::string& revision, Outcome& plan) {
  if (deployment.metadata.annotation(kRevision) == revision) return;
  plan.edits.push_back(
      {kube::resources::deployments,
       key_of(deployment.metadata),
       json::Object{
           {"metadata", json::Object{{"annotations", json::Object{{kRevision, revision}}}}}},
       {},
       "status"});
}

void clean_history(const Rollout& rollout, Outcome& plan) {
  std::int64_t limit = json::int_at(rollout.deployment.spec, {"revisionHistoryLimit"}, 10);
  std::vector<RolloutSet> sets;
  for (const RolloutSet& set : rollout.old)
    if (!set.object->metadata.deletionTimestamp) sets.push_back(set);
  std::stable_sort(sets.begin(), sets.end(), [](const RolloutSet& a, const RolloutSet& b) {
    return a.revision() < b.revision();
  });
  std::int64_t surplus = static_cast<std::int64_t>(sets.size()) - limit;
  for (std::int64_t i = 0; i < surplus; ++i) {
    const AnyObject& set = *sets[static_cast<std::size_t>(i)].object;
    if (replicas_of(set) != 0 || json::int_at(set.status, {"replicas"}) != 0 ||
        json::int_at(set.status, {"observedGeneration"}) < set.metadata.generation)
      continue;
    plan.removals.push_back(removal_of(kube::resources::replica_sets, set.metadata));
  }
}

// A change of spec.replicas, seen by the sets' annotations.
bool being_scaled(Rollout& rollout) {
  for (const RolloutSet* set : rollout.all()) {
    const std::string& desired = set->object->metadata.annotation(kDesired);
    if (set->replicas > 0 && !desired.empty() && desired != std::to_string(rollout.wanted()))
      return true;
  }
  return false;
}

bool old_pods_left(const Rollout& rollout, const View& view) {
  for (const RolloutSet& set : rollout.old)
    for (const PodRef& pod :
         view.controlled_by<model::Pod>(kube::resources::pods, set.object->metadata.uid))
      if (!pod_finished(*pod)) return true;
  return false;
}

Outcome reconcile_deployment(const AnyObject& deployment, const View& view) {
  Outcome plan;
  if (!spec_selector(deployment)) {
    plan.tell("Warning", "SelectingAll",
              "This deployment is selecting all pods. A non-empty selector is required.");
    return plan;
  }
  Rollout rollout = rollout_of(deployment, view.children(kube::resources::replica_sets));
  bool created = false;
  json::Object extra;
  if (deployment.metadata.deletionTimestamp) {
    // Only the status is kept up; the garbage collector does the rest.
  } else if (rollout.paused() || being_scaled(rollout)) {
    scale_in_proportion(rollout);
    write_sets(rollout, plan);
    if (rollout.paused()) clean_history(rollout, plan);
  } else if (!rollout.rolling() && !rollout.current &&
             (rollout.total() > 0 || old_pods_left(rollout, view))) {
    for (RolloutSet& set : rollout.old) set.replicas = 0;
    write_sets(rollout, plan);
  } else if (!rollout.current) {
    std::optional<std::int64_t> collisions;
    if (const json::Value* count = json::find(deployment.status, "collisionCount"))
      collisions = count->to_number<std::int64_t>();
    std::string hash = template_hash(template_of(deployment), collisions);
    kube::Key key{deployment.metadata.ns, deployment.metadata.name + "-" + hash};
    if (view.find(kube::resources::replica_sets, key)) {
      // Another template, or another owner's set, has taken the name.
      extra["collisionCount"] = collisions.value_or(0) + 1;
    } else {
      json::Value set = new_replica_set(rollout, hash);
      AnyObject made;
      made.metadata.name = key.name;
      made.spec = *json::find(set, "spec");
      rollout.current = RolloutSet{std::make_shared<const AnyObject>(made), replicas_of(made)};
      annotate_revision(deployment, std::to_string(next_revision(rollout)), plan);
      note_scaled(*rollout.current, 0, plan);
      plan.children.push_back(once(kube::resources::replica_sets, std::move(set)));
      created = true;
    }
  } else {
    bool grown = grow_current(rollout);
    if (!rollout.rolling()) {
      for (RolloutSet& set : rollout.old) set.replicas = 0;
    } else if (!grown) {
      shrink_old(rollout);
    }
    write_sets(rollout, plan);
    annotate_revision(deployment,
                      std::to_string(std::max(rollout.current->revision(), next_revision(rollout))),
                      plan);
  }
  json::Object status = deployment_status(rollout, view.now(), created, plan.again_after);
  for (const auto& member : extra) status[member.key()] = member.value();
  if (!created && rollout.current && deployment_complete(rollout, status))
    clean_history(rollout, plan);
  plan.status = std::move(status);
  return plan;
}

// A Recreate waits for the last of the old pods, which belong to its sets.
Follow old_pods() {
  return {kube::resources::pods, [](kube::CacheSet& caches, const Wake& wake) {
            auto& sets = caches.of<AnyObject>(kube::resources::replica_sets);
            auto& pods = caches.indexed_by_controller<model::Pod>(kube::resources::pods);
            pods.on_change([&sets, wake](const PodRef& before, const PodRef& after) {
              const model::OwnerReference* owner =
                  !after && before ? before->metadata.controller() : nullptr;
              if (!owner || owner->kind != "ReplicaSet") return;
              if (AnyRef set = sets.get({before->metadata.ns, owner->name}))
                if (const model::OwnerReference* above = set->metadata.controller())
                  wake({set->metadata.ns, above->name});
            });
          }};
}

}  // namespace

KindDescription deployment_kind() {
  return {.name = "deployment-controller",
          .resource = kube::resources::deployments,
          .owns = {{.resource = kube::resources::replica_sets, .claim = Claim::selector}},
          .follows = {old_pods()},
          .reconcile = reconcile_deployment,
          .reconcile_terminating = true};
}

}  // namespace hekla::controllers
