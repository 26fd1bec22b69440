#include "framework/pod_group.h"

#include <algorithm>

#include "framework/quota.h"

namespace hekla::framework {
namespace {

struct Measured {
  std::int32_t priority = 0, replicas = 0, minimum = 0;
  model::ResourceList usage;
};

// A container's requests, or its limits when it has no requests at all; init containers do not
// count.
Result<model::ResourceList> template_requests(const json::Value& pod_template) {
  model::ResourceList total;
  const json::Value* given = json::find(pod_template, "spec");
  if (!given) return total;
  const model::PodSpec spec = TRY(json::decode<model::PodSpec>(*given));
  for (const model::Container& container : spec.containers)
    add_times(total,
              container.resources.requests.empty() ? container.resources.limits
                                                   : container.resources.requests,
              1);
  return total;
}

Result<Measured> measured(const GangRole& role, const Gang& gang, const PriorityOf& priority_of) {
  static const json::Value none = json::Object();
  const json::Value& from = role.pod_template ? *role.pod_template : none;
  Measured result{0, role.replicas, role.minimum, {}};
  result.usage =
      TRY(gang.measure == GangMeasure::quota ? pod_quota_usage(from) : template_requests(from));
  const std::string_view own = json::string_at(from, {"spec", "priorityClassName"});
  result.priority = priority_of(own.empty() ? gang.priority_class : std::string(own));
  return result;
}

std::int32_t member_count(const Gang& gang) {
  if (gang.min_member) return *gang.min_member;
  std::int32_t all = 0;
  for (const GangRole& role : gang.roles) all += role.replicas;
  return all;
}

json::Object string_map(const std::map<std::string, std::string>& from) {
  json::Object to;
  for (const auto& [key, value] : from) to[key] = value;
  return to;
}

}  // namespace

Result<model::ResourceList> gang_resources(const Gang& gang, const PriorityOf& priority_of) {
  std::vector<Measured> roles;
  std::int64_t minimums = 0;
  for (const GangRole& role : gang.roles) {
    roles.push_back(TRY(measured(role, gang, priority_of)));
    minimums += role.minimum;
  }
  std::stable_sort(roles.begin(), roles.end(),
                   [](const Measured& a, const Measured& b) { return a.priority > b.priority; });
  model::ResourceList total;
  std::int32_t left = member_count(gang);
  const bool by_role = left >= minimums;
  auto take = [&](const Measured& role, std::int32_t wanted) {
    const std::int32_t taken = std::clamp(wanted, 0, std::max(left, 0));
    add_times(total, role.usage, taken);
    left -= taken;
  };
  // Too few members for every role's minimum: the first ones take what there is.
  for (const Measured& role : roles) take(role, by_role ? role.minimum : role.replicas);
  if (by_role)
    for (const Measured& role : roles) take(role, role.replicas - role.minimum);
  return total;
}

Result<Child> pod_group(const Gang& gang, const PriorityOf& priority_of,
                        const AnyObject* existing) {
  model::PodGroupSpec spec;
  spec.minMember = member_count(gang);
  spec.queue = gang.queue;
  if (existing)
    if (std::string_view queue = json::string_at(existing->spec, {"queue"}); !queue.empty())
      spec.queue = queue;
  spec.priorityClassName = gang.priority_class;
  spec.minResources =
      gang.min_resources ? *gang.min_resources : TRY(gang_resources(gang, priority_of));
  spec.networkTopology = gang.network_topology;
  if (gang.minimum_per_role)
    for (const GangRole& role : gang.roles) spec.minTaskMember[role.name] = role.minimum;
  json::Object metadata{{"name", gang.name}};
  if (!gang.annotations.empty()) metadata["annotations"] = string_map(gang.annotations);
  if (!gang.labels.empty()) metadata["labels"] = string_map(gang.labels);
  return Child{kube::resources::pod_groups,
               json::Object{{"metadata", std::move(metadata)}, {"spec", json::encode(spec)}}};
}

bool is_admitted(const AnyObject* group) {
  if (!group) return false;
  const std::string_view phase = json::string_at(group->status, {"phase"});
  return !phase.empty() && phase != "Pending";
}

bool join_gang(json::Value& pod, const std::string& group, const std::string& role,
               const std::string& scheduler_name) {
  json::at_path(pod, {"metadata", "annotations", model::keys::group_name}) = group;
  json::at_path(pod, {"metadata", "annotations", model::keys::task_spec}) = role;
  json::Value& scheduler = json::at_path(pod, {"spec", "schedulerName"});
  if (!scheduler.is_string() || scheduler.get_string().empty()) scheduler = scheduler_name;
  return json::sv(scheduler.get_string()) == scheduler_name;
}

}  // namespace hekla::framework
