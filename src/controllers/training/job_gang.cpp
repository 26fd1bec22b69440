// The PodGroup of a training job: asked for before its pods, which wait until the scheduler has let
// it in; kept in step with the spec; gone with the end of the job.
#include <algorithm>
#include <charconv>

#include "controllers/training/job_round.h"
#include "framework/pod_group.h"

namespace hekla::controllers::training {
namespace {

namespace resources = kube::resources;

// The size that the scheduler grants an elastic job when its queue is short, written on its group:
// members of all roles together.
const std::string kGrantedMembers = "hekla.io/granted-members";
// Tells the scheduler how many members an elastic job would have.
const std::string kElasticMembers = "hekla.io/elastic-members";

// What concerns the job alone: its own record, what conversions and kubectl have left.
bool is_private(const std::string& annotation) {
  return annotation == kProgressAnnotation || annotation.starts_with("hekla.io/kept-") ||
         annotation == "kubectl.kubernetes.io/last-applied-configuration";
}

framework::PriorityOf priorities(const framework::View& view) {
  return [&view](const std::string& name) {
    auto found = view.find<model::PriorityClass>(resources::priority_classes, {"", name});
    return found ? found->value : 0;
  };
}

std::string queue_of(const TrainingJob& job) {
  std::string queue = json::text_at(job.spec(), {"runPolicy", "schedulingPolicy", "queue"});
  if (queue.empty()) queue = job.object->metadata.annotation(model::keys::queue_name);
  return queue.empty() ? "default" : queue;
}

}  // namespace

bool is_gang_scheduler(const Options& options, const std::string& name) {
  return name.empty() || name == options.gang_scheduler || name == "kube-batch";
}

bool JobRound::wants_gang() const {
  const std::string& chosen = job_.object->metadata.annotation(kGangAnnotation);
  if (!job_.options->has_gangs() || chosen == "false" || !view_.served(resources::pod_groups))
    return false;
  return chosen == "true" ||
         std::all_of(job_.replicas.begin(), job_.replicas.end(), [&](const Replica& one) {
           return one.bystander || is_gang_scheduler(*job_.options, one.scheduler_name);
         });
}

bool JobRound::is_elastic_member(const Replica& replica) const {
  return job_.elastic && replica.type == "Worker";
}

std::int32_t JobRound::granted(const Replica& replica) const {
  if (!gang_ || !is_elastic_member(replica)) return replica.replicas;
  const framework::AnyRef group = view_.child(resources::pod_groups, job_.name);
  const std::string& text = group ? group->metadata.annotation(kGrantedMembers) : "";
  std::int32_t members = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), members).ec != std::errc())
    return replica.replicas;
  const std::int32_t others = job_.total() - replica.replicas;
  const std::int32_t least = std::min(job_.elastic->min, replica.replicas);
  return std::clamp(members - others, least, replica.replicas);
}

bool JobRound::admit_gang() {
  if (!gang_) return true;
  framework::Gang gang;
  gang.name = job_.name;
  gang.queue = queue_of(job_);
  const json::Value* policy = json::find_path(job_.spec(), {"runPolicy", "schedulingPolicy"});
  std::int32_t least = 0;
  for (const Replica& one : job_.replicas) {
    if (one.bystander) continue;
    gang.roles.push_back(
        {.name = one.lower, .replicas = one.replicas, .pod_template = one.pod_template});
    least += is_elastic_member(one) ? std::min(job_.elastic->min, one.replicas) : one.replicas;
  }
  gang.min_member = least;
  if (policy) {
    gang.priority_class = json::string_at(*policy, {"priorityClass"});
    if (json::find(*policy, "minAvailable"))
      gang.min_member = static_cast<std::int32_t>(json::int_at(*policy, {"minAvailable"}));
    if (const json::Value* given = json::find(*policy, "minResources"))
      if (auto list = json::decode<model::ResourceList>(*given)) gang.min_resources = *list;
  }
  for (const auto& [key, value] : job_.object->metadata.annotations)
    if (!is_private(key)) gang.annotations[key] = value;
  if (least < job_.total()) gang.annotations[kElasticMembers] = std::to_string(job_.total());
  const framework::AnyRef group = view_.child(resources::pod_groups, job_.name);
  Result<framework::Child> child = framework::pod_group(gang, priorities(view_), group.get());
  if (!child) {
    outcome_.failure = child.error();
    return false;
  }
  outcome_.children.push_back(std::move(*child));
  return !kind_.waits_for_gang || framework::is_admitted(group.get());
}

void JobRound::leave_gang() {
  const framework::AnyRef group =
      view_.served(resources::pod_groups) ? view_.child(resources::pod_groups, job_.name) : nullptr;
  if (!group || group->metadata.deletionTimestamp) return;
  if (finished())
    outcome_.tell("Normal", "JobTerminated", "Job has been terminated. Deleting PodGroup");
  remove(resources::pod_groups, group->metadata);
}

}  // namespace hekla::controllers::training
