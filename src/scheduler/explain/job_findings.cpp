#include "scheduler/explain/job_findings.h"

#include <algorithm>
#include <map>
#include <set>

namespace hekla::scheduler {

namespace {

bool belongs(const model::Pod& pod, const model::PodGroup& group) {
  return pod.metadata.ns == group.metadata.ns &&
         pod.metadata.annotation(model::keys::group_name) == group.metadata.name;
}

const model::VcJob* owner_of(const World& world, const model::PodGroup& group) {
  for (const model::VcJob& job : world.jobs)
    if (group_of(world, job) == &group) return &job;
  return nullptr;
}

bool has_class(const World& world, const std::string& name) {
  return std::any_of(world.priority_classes.begin(), world.priority_classes.end(),
                     [&](const model::PriorityClass& one) { return one.metadata.name == name; });
}

// Dimensions in which used + needed exceeds hard, in the quota's own names.
void add_quotas(const World& world, const model::PodGroup& group, std::vector<Finding>& out) {
  if (!group.spec.minResources) return;
  for (const json::Value& quota : world.quotas) {
    if (json::string_at(quota, {"metadata", "namespace"}) != group.metadata.ns) continue;
    const json::Object* hard = json::object_at(quota, {"spec", "hard"});
    if (hard == nullptr) continue;
    for (const auto& member : *hard) {
      std::string name(member.key());
      auto needed = group.spec.minResources->find(name);
      if (needed == group.spec.minResources->end()) continue;
      auto parse = [](const json::Value& value) {
        std::string text =
            value.is_string() ? std::string(json::sv(value.get_string())) : json::serialize(value);
        Result<model::Quantity> quantity = model::Quantity::parse(text);
        return quantity ? *quantity : model::Quantity();
      };
      model::Quantity limit = parse(member.value());
      const json::Value* in_use = json::find_path(quota, {"status", "used", member.key()});
      model::Quantity used = in_use ? parse(*in_use) : model::Quantity();
      if (used.milli_value() + needed->second.milli_value() <= limit.milli_value()) continue;
      std::string quota_name(json::string_at(quota, {"metadata", "name"}));
      out.push_back({"quota",
                     "ResourceQuota " + group.metadata.ns + "/" + quota_name + " allows " +
                         limit.text() + " " + name + ", " + used.text() +
                         " are used, and this group needs " + needed->second.text(),
                     "raise the quota, or end what uses it up",
                     {{"quota", quota_name}, {"resource", name}}});
    }
  }
}

// Tasks that wait for others are made when those run, and nobody runs before the whole gang is
// there.
bool add_deadlock(const model::VcJob& job, std::int32_t needed, std::vector<Finding>& out) {
  std::int32_t first = 0;
  const model::TaskSpec* waiting = nullptr;
  for (const model::TaskSpec& task : job.spec.tasks) {
    bool waits = task.dependsOn && !task.dependsOn->name.empty();
    if (!waits) first += task.replicas;
    if (waits && waiting == nullptr) waiting = &task;
  }
  if (waiting == nullptr || first >= needed) return false;
  std::string others;
  for (const std::string& name : waiting->dependsOn->name)
    others.append(others.empty() ? "" : ", ").append(name);
  out.push_back({"depends-on",
                 "task " + waiting->name + " depends on " + others +
                     ": its pods are not made before those run, and those do not start before the "
                     "gang has its " +
                     std::to_string(needed) + " pods: they wait for each other for ever",
                 "set the job's minAvailable to " + std::to_string(first) + " or less",
                 {{"task", waiting->name}, {"minAvailable", first}}});
  return true;
}

bool ends_job(const std::vector<model::LifecyclePolicy>& policies) {
  return std::any_of(policies.begin(), policies.end(), [](const model::LifecyclePolicy& policy) {
    bool on_completion = policy.event == "TaskCompleted" ||
                         std::find(policy.events.begin(), policy.events.end(), "TaskCompleted") !=
                             policy.events.end();
    return on_completion && policy.action == "CompleteJob";
  });
}

}  // namespace

std::string event_text(const World& world, const std::string& kind, const std::string& ns,
                       const std::string& name, const std::set<std::string>& reasons) {
  std::string text;
  std::string newest;
  for (const json::Value& event : world.events) {
    if (json::string_at(event, {"involvedObject", "kind"}) != kind ||
        json::string_at(event, {"involvedObject", "name"}) != name ||
        json::string_at(event, {"metadata", "namespace"}) != ns ||
        !reasons.contains(std::string(json::string_at(event, {"reason"}))))
      continue;
    std::string at(json::string_at(event, {"lastTimestamp"}));
    if (text.empty() || at >= newest) {
      newest = at;
      text = std::string(json::string_at(event, {"message"}));
    }
  }
  return text;
}

const model::PodGroup* group_of(const World& world, const model::VcJob& job) {
  for (const model::PodGroup& group : world.groups) {
    if (group.metadata.ns != job.metadata.ns) continue;
    const model::OwnerReference* owner = group.metadata.controller();
    if ((owner != nullptr && owner->uid == job.metadata.uid) ||
        group.metadata.name == job.metadata.name + "-" + job.metadata.uid)
      return &group;
  }
  return nullptr;
}

void add_missing_priority_class(const World& world, const model::PodGroup& group,
                                std::vector<Finding>& out) {
  std::set<std::string> missing;
  if (const std::string& name = group.spec.priorityClassName;
      !name.empty() && !has_class(world, name))
    missing.insert(name);
  if (const model::VcJob* job = owner_of(world, group))
    for (const model::TaskSpec& task : job->spec.tasks) {
      std::string name(json::string_at(task.podTemplate, {"spec", "priorityClassName"}));
      if (!name.empty() && !name.starts_with("system-") && !has_class(world, name))
        missing.insert(name);
    }
  for (const std::string& name : missing)
    out.push_back({"priority-class-missing",
                   "no PriorityClass with name " + name +
                       " exists: pods that name it are refused by the API, and the group has the "
                       "priority 0",
                   "create the PriorityClass or name another one",
                   {{"priorityClass", name}}});
}

void add_missing_pods(const World& world, const model::PodGroup& group, const Job& job,
                      std::vector<Finding>& out) {
  add_quotas(world, group, out);
  const model::VcJob* owner = owner_of(world, group);
  const model::OwnerReference* maker = group.metadata.controller();
  std::string said;
  for (const std::string& name : {owner ? owner->metadata.name : "", maker ? maker->name : ""})
    if (said.empty() && !name.empty())
      said = event_text(world, maker ? maker->kind : "Job", group.metadata.ns, name,
                        {"FailedCreate", "FailedCreatePod", "CreatePodFailed"});
  bool let_in = group.status.phase == "Inqueue" || group.status.phase == "Running" ||
                group.status.phase == "Unknown";
  if (let_in && owner != nullptr && add_deadlock(*owner, job.min_available, out)) return;
  if (!said.empty())
    out.push_back({"pods-not-created", "its pods cannot be created: " + said, "", {}});
  else if (let_in)
    out.push_back({"pods-missing",
                   "only " + std::to_string(job.valid()) + " of at least " +
                       std::to_string(job.min_available) +
                       " pods exist: a gang is not tried before its minimum is there",
                   "whoever makes the pods (the job controller, or you) must make the rest",
                   {}});
}

std::string loss_of_node(const World& world, const std::string& name) {
  for (const model::Node& node : world.nodes) {
    if (node.metadata.name != name) continue;
    for (const json::Value& condition : node.status.conditions)
      if (json::string_at(condition, {"type"}) == "Ready" &&
          json::string_at(condition, {"status"}) != "True")
        return "is not ready (" + std::string(json::string_at(condition, {"message"})) + ")";
    return {};
  }
  return "does not exist any more";
}

void add_lost_nodes(const World& world, const model::PodGroup& group, std::vector<Finding>& out) {
  std::map<std::string, int> members;
  for (const model::Pod& pod : world.pods)
    if (belongs(pod, group) && !pod.spec.nodeName.empty() && pod.status.phase != "Succeeded" &&
        pod.status.phase != "Failed")
      ++members[pod.spec.nodeName];
  for (const auto& [name, count] : members) {
    std::string state = loss_of_node(world, name);
    if (state.empty()) continue;
    out.push_back(
        {"node-lost",
         std::to_string(count) + " of its pods stand on node " + name + ", which " + state,
         "bring the node back, or delete the pods to have them placed elsewhere",
         {{"node", name}, {"pods", count}}});
  }
}

void add_endless_run(const World& world, const model::VcJob& job, std::vector<Finding>& out) {
  if (job.status.state.phase != "Running" || ends_job(job.spec.policies)) return;
  struct Count {
    int total = 0, succeeded = 0;
  };
  std::map<std::string, Count> tasks;
  bool others_run = false;
  for (const model::Pod& pod : world.pods) {
    if (pod.metadata.ns != job.metadata.ns ||
        pod.metadata.annotation(model::keys::job_name) != job.metadata.name)
      continue;
    Count& count = tasks[pod.metadata.annotation(model::keys::task_spec)];
    ++count.total;
    count.succeeded += pod.status.phase == "Succeeded";
    others_run |= pod.status.phase != "Succeeded" && pod.status.phase != "Failed";
  }
  if (!others_run) return;
  for (const model::TaskSpec& task : job.spec.tasks) {
    const Count& count = tasks[task.name];
    if (count.total == 0 || count.succeeded < count.total || ends_job(task.policies)) continue;
    out.push_back(
        {"no-complete-policy",
         "task " + task.name + " has completed (" + std::to_string(count.succeeded) +
             " pods), the other tasks run on, and no policy ends the job with it: it "
             "stays Running until every pod has ended",
         "give task " + task.name + " the policy {event: TaskCompleted, action: CompleteJob}",
         {{"task", task.name},
          {"policy", json::Object{{"event", "TaskCompleted"}, {"action", "CompleteJob"}}}}});
  }
}

}  // namespace hekla::scheduler
