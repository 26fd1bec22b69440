// The PodGroup of a JobSet. Replicated jobs that others wait for until they are complete
// (initializers) run before the gang and are no part of it. Those that others wait for until they
// are ready are placed first: the group's minMember grows with the turn of each, while its
// minResources are those of all from the beginning, so that the queue lets in only what fits as a
// whole.
#include <algorithm>

#include "controllers/jobset/set_round.h"
#include "framework/pod_group.h"

namespace hekla::controllers::jobset {
namespace {

namespace resources = kube::resources;

// {mode, highestTierAllowed} for the group, from whoever made the set.
const std::string kTopology = "hekla.io/network-topology";

framework::PriorityOf priorities(const framework::View& view) {
  return [&view](const std::string& name) {
    auto found = view.find<model::PriorityClass>(resources::priority_classes, {"", name});
    return found ? found->value : 0;
  };
}

bool is_private(const std::string& annotation) {
  return annotation == framework::kWantedHash || annotation == kTopology ||
         annotation == "kubectl.kubernetes.io/last-applied-configuration";
}

// Pods that bring a group of their own, or another scheduler, are not ours to gather.
bool can_join(const Options& options, const ReplicatedJob& job) {
  const json::Value* pod = job.pod_template();
  if (!pod) return true;
  const std::string_view scheduler = json::string_at(*pod, {"spec", "schedulerName"});
  return (scheduler.empty() || scheduler == options.gang_scheduler || scheduler == "kube-batch") &&
         json::string_at(*pod, {"metadata", "annotations", model::keys::group_name}).empty();
}

// Followers are refused until their leader has a node, so all of them never wait together.
bool follows_leader(const JobSet& set, const ReplicatedJob& job) {
  const auto& own = set.object->metadata.annotations;
  const json::Object* given = json::object_at(*job.job_template, {"metadata", "annotations"});
  auto has = [&](const std::string& key) {
    return own.contains(key) || (given && given->contains(key));
  };
  return has(keys::exclusive) && !has(keys::node_selector);
}

}  // namespace

bool SetRound::wants_gang() const {
  const std::string& chosen = set_.object->metadata.annotation(framework::kGangAnnotation);
  if (!options_.has_gangs() || chosen == "false" || !view_.served(resources::pod_groups))
    return false;
  return std::all_of(set_.jobs.begin(), set_.jobs.end(), [&](const ReplicatedJob& job) {
    return !follows_leader(set_, job) && (chosen == "true" || can_join(options_, job));
  });
}

bool SetRound::is_member(const ReplicatedJob& job) const {
  return gang_ && std::none_of(set_.jobs.begin(), set_.jobs.end(), [&](const ReplicatedJob& one) {
           return std::any_of(
               one.depends_on.begin(), one.depends_on.end(),
               [&](const Dependency& on) { return on.complete && on.name == job.name; });
         });
}

bool SetRound::admit_gang() {
  if (!gang_) return true;
  framework::Gang gang;
  gang.name = set_.name();
  std::int32_t now = 0;
  bool turn = true;  // in order: the first that has not started, and those before it
  for (const ReplicatedJob& job : set_.jobs) {
    const bool starts = turn && may_start(job);
    if (set_.in_order && !is_started(job)) turn = false;
    if (!is_member(job)) continue;
    const json::Value* pod = job.pod_template();
    gang.roles.push_back(
        {.name = job.name, .replicas = job.replicas * job.pods, .pod_template = pod});
    if (starts) now += job.replicas * job.pods;
    if (std::string own = pod ? json::text_at(*pod, {"spec", "priorityClassName"}) : "";
        !own.empty())
      gang.priority_class = own;
  }
  if (now == 0) return true;
  const auto& annotations = set_.object->metadata.annotations;
  for (const auto& [key, value] : annotations)
    if (!is_private(key)) gang.annotations[key] = value;
  if (auto queue = annotations.find(model::keys::queue_name);
      queue != annotations.end() && !queue->second.empty())
    gang.queue = queue->second;
  if (auto given = annotations.find(kTopology); given != annotations.end())
    if (auto topology = json::decode_text<model::NetworkTopologySpec>(given->second))
      gang.network_topology = *topology;
  const framework::AnyRef group = view_.child(resources::pod_groups, gang.name);
  Result<model::ResourceList> all = framework::gang_resources(gang, priorities(view_));
  if (all) gang.min_resources = *all;
  gang.min_member = now;
  Result<framework::Child> child = framework::pod_group(gang, priorities(view_), group.get());
  if (!child) {
    outcome_.failure = child.error();
    return false;
  }
  outcome_.children.push_back(std::move(*child));
  return framework::is_admitted(group.get());
}

void SetRound::leave_gang() {
  const framework::AnyRef group = view_.served(resources::pod_groups)
                                      ? view_.child(resources::pod_groups, set_.name())
                                      : nullptr;
  if (group && !group->metadata.deletionTimestamp)
    outcome_.removals.push_back(
        framework::removal_of(resources::pod_groups, group->metadata, "nothing is to run"));
}

void SetRound::join_gang(const ReplicatedJob& job, json::Value& body) const {
  json::Value& pod = json::at_path(body, {"spec", "template"});
  const auto& annotations = set_.object->metadata.annotations;
  if (is_member(job))
    framework::join_gang(pod, set_.name(), job.name, options_.gang_scheduler);
  else if (auto queue = annotations.find(model::keys::queue_name);
           gang_ && queue != annotations.end())
    json::at_path(pod, {"metadata", "annotations", model::keys::queue_name}) = queue->second;
}

}  // namespace hekla::controllers::jobset
