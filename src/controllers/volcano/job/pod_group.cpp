#include "controllers/volcano/job/pod_group.h"

#include <algorithm>

#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/state_machine.h"
#include "framework/pod_group.h"
#include "json/patch.h"

namespace hekla::controllers {
namespace {

// The job's generation the group was made from, kept only when it is not the first.
const std::string kGeneration = "hekla.io/job-generation";

std::int32_t group_minimum(const model::TaskSpec& task) {
  if (task.minAvailable) return *task.minAvailable;
  if (task.partitionPolicy && task.partitionPolicy->minPartitions > 0 &&
      task.partitionPolicy->partitionSize > 0)
    return task.partitionPolicy->minPartitions * task.partitionPolicy->partitionSize;
  return task.replicas;
}

std::optional<model::NetworkTopologySpec> topology(
    const std::optional<model::NetworkTopologySpec>& from) {
  std::optional<model::NetworkTopologySpec> to = from;
  if (to && to->highestTierAllowed) to->highestTierName.clear();
  return to;
}

model::SubGroupPolicy sub_group(const model::TaskSpec& task) {
  model::SubGroupPolicy policy;
  policy.name = task.name;
  policy.subGroupSize = task.partitionPolicy->partitionSize;
  policy.minSubGroups = task.partitionPolicy->minPartitions;
  policy.networkTopology = topology(task.partitionPolicy->networkTopology);
  policy.labelSelector =
      json::Object{{"matchLabels", json::Object{{model::keys::task_spec, task.name}}}};
  policy.matchLabelKeys = {model::keys::partition_id};
  return policy;
}

json::Object string_map(const std::map<std::string, std::string>& from) {
  json::Object to;
  for (const auto& [key, value] : from) to[key] = value;
  return to;
}

kube::Write make_group(const model::VcJob& job, const model::PodGroupSpec& spec) {
  json::Object annotations = string_map(job.metadata.annotations);
  // The scheduler plans with it, and a PodGroup has no field for it.
  if (!job.spec.runningEstimate.empty())
    annotations["hekla.io/running-estimate"] = job.spec.runningEstimate;
  if (job.metadata.generation > 1)
    annotations[kGeneration] = std::to_string(job.metadata.generation);
  json::Object metadata{{"name", pod_group_name(job)}, {"namespace", job.metadata.ns}};
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  if (!job.metadata.labels.empty()) metadata["labels"] = string_map(job.metadata.labels);
  metadata["ownerReferences"] = json::Array{json::encode(model::controller_reference(
      kube::resources::vcjobs.api_version(), kube::resources::vcjobs.kind, job.metadata))};
  return create(kube::resources::pod_groups, job.metadata.ns,
                json::Object{{"apiVersion", kube::resources::pod_groups.api_version()},
                             {"kind", "PodGroup"},
                             {"metadata", std::move(metadata)},
                             {"spec", json::encode(spec)}});
}

// The cheap half of the comparison; minResources only follows the generation.
bool same_gang(const model::VcJob& job, const model::PodGroup& group) {
  if (group.spec.minMember != job.spec.minAvailable ||
      group.spec.priorityClassName != job.spec.priorityClassName)
    return false;
  return std::all_of(
      job.spec.tasks.begin(), job.spec.tasks.end(), [&](const model::TaskSpec& task) {
        auto found = group.spec.minTaskMember.find(task.name);
        return found != group.spec.minTaskMember.end() && found->second == group_minimum(task);
      });
}

}  // namespace

Result<model::ResourceList> min_resources(
    const model::VcJobSpec& spec,
    const std::function<std::int32_t(const std::string&)>& priority_of) {
  Gang gang{.name = {}};
  gang.priority_class = spec.priorityClassName;
  gang.min_member = spec.minAvailable;
  gang.measure = GangMeasure::quota;
  for (const model::TaskSpec& task : spec.tasks)
    gang.roles.push_back({task.name, task.replicas, role_min_available(task), &task.podTemplate});
  return gang_resources(gang, priority_of);
}

Result<model::PodGroupSpec> pod_group_spec(const JobView& view) {
  const model::VcJob& job = *view.job;
  model::PodGroupSpec spec;
  spec.minMember = job.spec.minAvailable;
  spec.queue = job.spec.queue;
  spec.priorityClassName = job.spec.priorityClassName;
  spec.minResources = TRY(min_resources(job.spec, view.priority_of));
  spec.networkTopology = topology(job.spec.networkTopology);
  for (const model::TaskSpec& task : job.spec.tasks) {
    spec.minTaskMember[task.name] = group_minimum(task);
    if (task.partitionPolicy) spec.subGroupPolicy.push_back(sub_group(task));
  }
  return spec;
}

bool is_behind(const model::VcJob& job, const model::PodGroup& group) {
  const std::string& made_from = group.metadata.annotation(kGeneration);
  return made_from.empty() ? job.metadata.generation > 1
                           : made_from != std::to_string(job.metadata.generation);
}

Result<bool> plan_pod_group(const JobView& view, Plan& plan) {
  const model::VcJob& job = *view.job;
  if (!view.pod_group) {
    plan.add(Purpose::pod_group, make_group(job, TRY(pod_group_spec(view))));
    return false;
  }
  const model::PodGroup& group = *view.pod_group;
  if (!is_behind(job, group) && same_gang(job, group)) return true;
  model::PodGroupSpec wanted = TRY(pod_group_spec(view));
  // Queue and topology stay as they are: they cannot change on a job either.
  wanted.queue = group.spec.queue;
  wanted.networkTopology = group.spec.networkTopology;
  json::Object patch{
      {"metadata",
       json::Object{
           {"annotations", json::Object{{kGeneration, std::to_string(job.metadata.generation)}}}}}};
  json::Value change = json::diff_merge(json::encode(group.spec), json::encode(wanted));
  if (const json::Object* members = change.if_object(); members && !members->empty())
    patch["spec"] = std::move(change);
  plan.add(Purpose::pod_group,
           merge_patch(kube::resources::pod_groups,
                       kube::Key{group.metadata.ns, group.metadata.name}, std::move(patch)));
  return false;
}

bool may_create_pods(const model::PodGroup* group) {
  return group && !group->status.phase.empty() && group->status.phase != "Pending";
}

std::optional<EventText> pending_event(const model::VcJob& job, const model::PodGroup& group) {
  const model::PodGroupCondition* newest = nullptr;
  for (const model::PodGroupCondition& condition : group.status.conditions) {
    if (condition.status != "True") continue;
    // Within one second the good news wins.
    bool later = !newest || condition.lastTransitionTime.at > newest->lastTransitionTime.at ||
                 (condition.lastTransitionTime == newest->lastTransitionTime &&
                  condition.type == "Scheduled");
    if (later) newest = &condition;
  }
  if (!newest || newest->type == "Scheduled") return std::nullopt;
  return EventText{"Warning", "PodGroupPending",
                   "PodGroup " + job.metadata.ns + ":" + job.metadata.name +
                       " unschedule,reason: " + newest->message};
}

}  // namespace hekla::controllers
