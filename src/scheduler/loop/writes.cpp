#include "scheduler/loop/writes.h"

#include <algorithm>

#include "model/time.h"

namespace hekla::scheduler {

namespace {

// null removes the member in a merge patch.
json::Value count_or_null(std::int32_t count) {
  return count == 0 ? json::Value(nullptr) : json::Value(count);
}

// The metadata of a patch for this object alone: names return, and the next one of that name has
// done nothing.
json::Object only(const std::string& uid) {
  return uid.empty() ? json::Object() : json::Object{{"uid", uid}};
}

kube::Write patch(const kube::Resource& resource, kube::Key key, json::Value body) {
  kube::Write write;
  write.verb = kube::Write::Verb::patch;
  write.resource = resource;
  write.key = std::move(key);
  write.body = std::move(body);
  return write;
}

}  // namespace

kube::Write bind_write(const Cluster& cluster, const BindDecision& decision,
                       const BindPreparation* preparation) {
  const Task& task = cluster.at(decision.task);
  kube::Write write;
  write.verb = kube::Write::Verb::bind;
  write.resource = kube::resources::pods;
  write.key = {task.ns, task.name};
  json::Object meta{{"name", task.name}, {"namespace", task.ns}};
  if (!task.uid.empty()) meta["uid"] = task.uid;
  if (preparation != nullptr && !preparation->annotations.empty()) {
    json::Object annotations;
    for (const auto& [name, value] : preparation->annotations) annotations[name] = value;
    meta["annotations"] = std::move(annotations);
  }
  write.body = json::Object{
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata", std::move(meta)},
      {"target", json::Object{{"kind", "Node"}, {"name", cluster.at(decision.node).name}}}};
  return write;
}

kube::Write claim_write(const BindPreparation::ClaimDecision& claim, const std::string& node) {
  if (claim.volume.empty())
    return patch(
        kube::resources::persistent_volume_claims, {claim.ns, claim.name},
        json::Object{{"metadata",
                      json::Object{{"annotations",
                                    json::Object{{"volume.kubernetes.io/selected-node", node}}}}}});
  json::Object ref{{"apiVersion", "v1"},
                   {"kind", "PersistentVolumeClaim"},
                   {"namespace", claim.ns},
                   {"name", claim.name},
                   {"uid", claim.uid}};
  json::Object meta{{"annotations", json::Object{{"pv.kubernetes.io/bound-by-controller", "yes"}}}};
  return patch(kube::resources::persistent_volumes, {"", claim.volume},
               json::Object{{"metadata", std::move(meta)},
                            {"spec", json::Object{{"claimRef", std::move(ref)}}}});
}

std::vector<kube::Write> device_claim_writes(const BindPreparation::DeviceDecision& claim,
                                             const std::vector<std::string>& finalizers) {
  static const std::string kProtection = "resource.kubernetes.io/delete-protection";
  static const kube::Resource kClaims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"};
  std::vector<kube::Write> out;
  json::Object status;
  if (!claim.reserved_for.get_array().empty()) status["reservedFor"] = claim.reserved_for;
  if (!claim.allocation.is_null()) {
    status["allocation"] = claim.allocation;
    json::Array all;
    for (const std::string& one : finalizers) all.push_back(json::Value(one));
    if (std::find(finalizers.begin(), finalizers.end(), kProtection) == finalizers.end())
      all.push_back(json::Value(kProtection));
    out.push_back(patch(kClaims, {claim.ns, claim.name},
                        json::Object{{"metadata", json::Object{{"finalizers", std::move(all)}}}}));
  }
  if (status.empty()) return out;
  // Users are merged by their uid: several pods may join a claim at once.
  out.push_back(
      patch(kClaims, {claim.ns, claim.name}, json::Object{{"status", std::move(status)}}));
  out.back().subresource = "status";
  out.back().patch_type = kube::PatchType::strategic;
  return out;
}

kube::Write group_write(const Cluster& cluster, JobId id) {
  const Job& job = cluster.at(id);
  json::Array conditions;
  for (const GroupCondition& condition : job.conditions) {
    json::Object one{{"type", condition.type}, {"status", condition.status}};
    if (!condition.transition_id.empty()) one["transitionID"] = condition.transition_id;
    one["lastTransitionTime"] = model::format_rfc3339(condition.at);
    if (!condition.reason.empty()) one["reason"] = condition.reason;
    if (!condition.message.empty()) one["message"] = condition.message;
    conditions.push_back(std::move(one));
  }
  json::Object status{{"phase", name_of(job.phase)},
                      {"running", count_or_null(job.running)},
                      {"succeeded", count_or_null(job.succeeded)},
                      {"failed", count_or_null(job.failed)}};
  if (!conditions.empty()) status["conditions"] = std::move(conditions);
  json::Object metadata = only(job.uid), annotations;
  if (!job.hyper_node.empty()) annotations["volcano.sh/job-allocated-hypernode"] = job.hyper_node;
  if (job.elastic_members > 0)
    annotations["hekla.io/granted-members"] =
        job.granted > 0 ? json::Value(std::to_string(job.granted)) : json::Value(nullptr);
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  json::Object body{{"metadata", std::move(metadata)}, {"status", std::move(status)}};
  return patch(kube::resources::pod_groups, {job.ns, job.name}, std::move(body));
}

kube::Write pod_condition_write(const Cluster& cluster, const PodConditionDecision& decision,
                                WallTime now) {
  const Task& task = cluster.at(decision.task);
  json::Object condition{
      {"type", "PodScheduled"},    {"status", "False"},
      {"lastProbeTime", nullptr},  {"lastTransitionTime", model::format_rfc3339(now)},
      {"reason", decision.reason}, {"message", decision.message}};
  json::Object status{{"conditions", json::Array{std::move(condition)}}};
  if (decision.nominated.valid()) status["nominatedNodeName"] = cluster.at(decision.nominated).name;
  kube::Write write =
      patch(kube::resources::pods, {task.ns, task.name},
            json::Object{{"metadata", only(task.uid)}, {"status", std::move(status)}});
  write.subresource = "status";
  write.patch_type = kube::PatchType::strategic;
  return write;
}

kube::Write queue_write(const Cluster& cluster, QueueId id) {
  const Queue& queue = cluster.at(id);
  json::Object allocated;
  auto add = [&](Dim dim) {
    allocated[cluster.dimensions().name(dim)] =
        cluster.dimensions().quantity(dim, queue.written_allocated[dim]).text();
  };
  for (Dim dim : {kCpu, kMemory, kPods}) add(dim);
  // A dimension that was allocated once and is not any more must be taken out again.
  for (const std::string& name : queue.stale_names) allocated[name] = nullptr;
  for (std::size_t d = kFirstExtended; d < cluster.dimensions().size(); ++d) {
    auto dim = static_cast<Dim>(d);
    if (queue.written_allocated[dim] != 0)
      add(dim);
    else if (queue.written_allocated.has(dim))
      allocated[cluster.dimensions().name(dim)] = nullptr;
  }
  const QueueCounts& counts = queue.written_counts;
  kube::Write write =
      patch(kube::resources::queues, {"", queue.name},
            json::Object{{"status", json::Object{{"allocated", std::move(allocated)},
                                                 {"reservation", json::Object()},
                                                 {"pending", count_or_null(counts.pending)},
                                                 {"running", count_or_null(counts.running)},
                                                 {"inqueue", count_or_null(counts.inqueue)},
                                                 {"unknown", count_or_null(counts.unknown)},
                                                 {"completed", count_or_null(counts.completed)}}}});
  write.subresource = "status";
  return write;
}

kube::Write create_queue_write(const std::string& name, bool reclaimable) {
  kube::Write write;
  write.verb = kube::Write::Verb::create;
  write.resource = kube::resources::queues;
  write.key = {"", name};
  write.body = json::Object{{"apiVersion", kube::resources::queues.api_version()},
                            {"kind", kube::resources::queues.kind},
                            {"metadata", json::Object{{"name", name}}},
                            {"spec", json::Object{{"weight", 1}, {"reclaimable", reclaimable}}}};
  return write;
}

kube::Write evicted_condition_write(const Cluster& cluster, const EvictDecision& decision,
                                    WallTime now) {
  const Task& task = cluster.at(decision.task);
  auto condition = [&](std::string_view type, std::string_view status, std::string_view reason,
                       std::string message) {
    return json::Object{{"type", type},
                        {"status", status},
                        {"lastProbeTime", nullptr},
                        {"lastTransitionTime", model::format_rfc3339(now)},
                        {"reason", reason},
                        {"message", std::move(message)}};
  };
  json::Array conditions{
      condition("Ready", "False", "Evict", "Pod is evicted, because of " + decision.reason),
      condition("DisruptionTarget", "True", "PreemptionByScheduler",
                task.scheduler_name + ": preempting to accommodate a higher priority pod")};
  kube::Write write =
      patch(kube::resources::pods, {task.ns, task.name},
            json::Object{{"metadata", only(task.uid)},
                         {"status", json::Object{{"conditions", std::move(conditions)}}}});
  write.subresource = "status";
  write.patch_type = kube::PatchType::strategic;
  return write;
}

kube::Write evict_write(const Cluster& cluster, const EvictDecision& decision) {
  const Task& task = cluster.at(decision.task);
  kube::Write write;
  write.verb = kube::Write::Verb::remove;
  write.resource = kube::resources::pods;
  write.key = {task.ns, task.name};
  write.precondition_uid = task.uid;
  return write;
}

kube::EventTarget target_of(const Task& task) {
  return {"v1", "Pod", task.ns, task.name, task.uid, 0};
}

kube::EventTarget target_of(const Job& job) {
  return {kube::resources::pod_groups.api_version(),
          kube::resources::pod_groups.kind,
          job.ns,
          job.name,
          job.uid,
          0};
}

}  // namespace hekla::scheduler
