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
  const Workload& deployment = rollout.deployment;
  json::Value pod_template = deployment.pod_template();
  json::at_path(pod_template, {"metadata", "labels", kHashLabel}) = hash;
  json::Value selector = *json::find(deployment.spec, "selector");
  json::at_path(selector, {"matchLabels", kHashLabel}) = hash;
  json::Object annotations = size_annotations(rollout);
  for (const auto& [name, value] : deployment.metadata.annotations)
    if (!own_annotation(name)) annotations[name] = value;
  annotations[kRevision] = std::to_string(next_revision(rollout));
  json::Value owner =
      json::encode(model::controller_reference("apps/v1", "Deployment", deployment.metadata));
  json::Value labels = json::at_path(pod_template, {"metadata", "labels"});
  json::Object spec{{"replicas", current_set_size(rollout, 0)},
                    {"selector", std::move(selector)},
                    {"template", std::move(pod_template)}};
  put_count(spec, "minReadySeconds", json::int_at(deployment.spec, {"minReadySeconds"}));
  return json::Object{
      {"apiVersion", "apps/v1"},
      {"kind", "ReplicaSet"},
      {"metadata", json::Object{{"name", deployment.metadata.name + "-" + hash},
                                {"namespace", deployment.metadata.ns},
                                {"labels", std::move(labels)},
                                {"annotations", std::move(annotations)},
                                {"ownerReferences", json::Array{std::move(owner)}}}},
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

void note_scaled(const RolloutSet& set, std::int64_t before, WorkloadPlan& plan) {
  if (set.replicas == before) return;
  std::string direction = set.replicas > before ? "up" : "down";
  plan.events.push_back({"Normal", "ScalingReplicaSet",
                         "Scaled " + direction + " replica set " + set.object->metadata.name +
                             " from " + std::to_string(before) + " to " +
                             std::to_string(set.replicas)});
}

// Writes whatever of `rollout` differs from the sets as they are.
void write_sets(const Rollout& rollout, WorkloadPlan& plan) {
  json::Object sizes = size_annotations(rollout);
  auto write = [&](const RolloutSet& set, json::Object annotations) {
    bool sized = set.replicas != set.object->replicas();
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
    note_scaled(set, set.object->replicas(), plan);
    plan.writes.push_back(
        merge_patch(kube::resources::replica_sets, key_of(set.object->metadata), std::move(patch)));
  };
  if (rollout.current) write(*rollout.current, stale_annotations(rollout));
  for (const RolloutSet& set : rollout.old) write(set, {});
}

// Through the status, as upstream does: a change of annotations counts in metadata.generation
// otherwise.
void annotate_revision(const Workload& deployment, const std::string& revision,
                       WorkloadPlan& plan) {
  if (deployment.metadata.annotation(kRevision) == revision) return;
  plan.writes.push_back(merge_patch(
      kube::resources::deployments, key_of(deployment.metadata),
      json::Object{
          {"metadata", json::Object{{"annotations", json::Object{{kRevision, revision}}}}}},
      "status"));
}

void clean_history(const Rollout& rollout, WorkloadPlan& plan) {
  std::int64_t limit = json::int_at(rollout.deployment.spec, {"revisionHistoryLimit"}, 10);
  std::vector<RolloutSet> sets;
  for (const RolloutSet& set : rollout.old)
    if (!set.object->metadata.deletionTimestamp) sets.push_back(set);
  std::stable_sort(sets.begin(), sets.end(), [](const RolloutSet& a, const RolloutSet& b) {
    return a.revision() < b.revision();
  });
  std::int64_t surplus = static_cast<std::int64_t>(sets.size()) - limit;
  for (std::int64_t i = 0; i < surplus; ++i) {
    const Workload& set = *sets[static_cast<std::size_t>(i)].object;
    if (set.replicas() != 0 || json::int_at(set.status, {"replicas"}) != 0 ||
        json::int_at(set.status, {"observedGeneration"}) < set.metadata.generation)
      continue;
    plan.writes.push_back(
        remove(kube::resources::replica_sets, key_of(set.metadata), set.metadata.uid));
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

}  // namespace

bool Deployments::old_pods_left(const Rollout& rollout) const {
  for (const RolloutSet& set : rollout.old)
    for (const WorkloadPod& pod : caches_.pods_of(set.object->metadata.uid))
      if (!pod_finished(*pod)) return true;
  return false;
}

WorkloadPlan Deployments::plan(const Workload& deployment, WallTime now) {
  WorkloadPlan plan;
  if (!deployment.selector()) {
    plan.events.push_back(
        {"Warning", "SelectingAll",
         "This deployment is selecting all pods. A non-empty selector is required."});
    return plan;
  }
  Rollout rollout = rollout_of(deployment, caches_.claim_replica_sets(deployment, plan.writes));
  bool created = false;
  json::Object extra;
  if (deployment.metadata.deletionTimestamp) {
    // Only the status is kept up; the garbage collector does the rest.
  } else if (rollout.paused() || being_scaled(rollout)) {
    scale_in_proportion(rollout);
    write_sets(rollout, plan);
    if (rollout.paused()) clean_history(rollout, plan);
  } else if (!rollout.rolling() && !rollout.current &&
             (rollout.total() > 0 || old_pods_left(rollout))) {
    for (RolloutSet& set : rollout.old) set.replicas = 0;
    write_sets(rollout, plan);
  } else if (!rollout.current) {
    std::optional<std::int64_t> collisions;
    if (const json::Value* count = json::find(deployment.status, "collisionCount"))
      collisions = count->to_number<std::int64_t>();
    std::string hash = template_hash(deployment.pod_template(), collisions);
    kube::Key key{deployment.metadata.ns, deployment.metadata.name + "-" + hash};
    if (caches_.replica_sets.get(key)) {
      // Another template, or another owner's set, has taken the name.
      extra["collisionCount"] = collisions.value_or(0) + 1;
    } else {
      json::Value set = new_replica_set(rollout, hash);
      Workload made;
      made.metadata.name = key.name;
      made.spec = *json::find(set, "spec");
      rollout.current = RolloutSet{std::make_shared<const Workload>(made), made.replicas()};
      annotate_revision(deployment, std::to_string(next_revision(rollout)), plan);
      note_scaled(*rollout.current, 0, plan);
      plan.writes.push_back(create(kube::resources::replica_sets, key.ns, std::move(set)));
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
  json::Object status = deployment_status(rollout, now, created, plan.again_after);
  for (const auto& member : extra) status[member.key()] = member.value();
  if (!created && rollout.current && deployment_complete(rollout, status))
    clean_history(rollout, plan);
  if (auto write = status_write(kube::resources::deployments, deployment, status))
    plan.writes.push_back(std::move(*write));
  return plan;
}

Deployments::Deployments(WorkloadCaches& caches)
    : caches_(caches),
      loop_(caches, caches.deployments, "deployment",
            [this](const WorkloadRef& deployment, WallTime now, const std::string*) {
              return plan(*deployment, now);
            }) {
  caches_.replica_sets.on_change([this](const WorkloadRef& before, const WorkloadRef& after) {
    for (const WorkloadRef& set : {before, after}) {
      if (!set) continue;
      const model::OwnerReference* owner = set->metadata.controller();
      if (owner && owner->kind == "Deployment") loop_.add({set->metadata.ns, owner->name});
    }
    if (!after || after->metadata.controller()) return;
    for (const WorkloadRef& one : caches_.deployments.in_namespace(after->metadata.ns))
      if (auto selector = one->selector(); selector && selector->matches(after->metadata.labels))
        loop_.add(key_of(one->metadata));
  });
  // A Recreate waits for the last of the old pods.
  caches_.pods.on_change([this](const WorkloadPod& before, const WorkloadPod& after) {
    if (after || !before) return;
    const model::OwnerReference* owner = before->metadata.controller();
    if (!owner || owner->kind != "ReplicaSet") return;
    if (WorkloadRef set = caches_.replica_sets.get({before->metadata.ns, owner->name}))
      if (const model::OwnerReference* deployment = set->metadata.controller())
        loop_.add({set->metadata.ns, deployment->name});
  });
}

}  // namespace hekla::controllers
