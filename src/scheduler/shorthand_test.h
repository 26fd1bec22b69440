// The shorthand in which scenarios and tests write nodes, queues, groups and pods, expanded to full
// Kubernetes objects.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "model/core.h"
#include "model/volcano.h"

namespace hekla::scheduler::shorthand {

inline std::string text_of(const json::Value& value) {
  return value.is_string() ? std::string(json::sv(value.get_string())) : json::serialize(value);
}

// cpu, memory and `resources: {name: amount}` of a shorthand, as a resource list.
inline json::Object amounts(const json::Value& from) {
  json::Object list;
  for (std::string_view name : {"cpu", "memory", "pods"})
    if (const json::Value* amount = json::find(from, name)) list[name] = text_of(*amount);
  if (const json::Object* others = json::object_at(from, {"resources"}))
    for (const auto& member : *others) list[member.key()] = text_of(member.value());
  return list;
}

inline void copy(const json::Value& from, std::string_view name, json::Value& to) {
  if (const json::Value* given = json::find(from, name)) to.as_object()[name] = *given;
}

// {name, cpu, memory, pods (110), resources, labels, taints, unschedulable, images}
inline json::Value node(const json::Value& from) {
  json::Object allocatable = amounts(from);
  if (!allocatable.contains("pods")) allocatable["pods"] = "110";
  json::Value meta = json::Object{{"name", json::string_at(from, {"name"})}};
  copy(from, "labels", meta);
  copy(from, "annotations", meta);
  if (json::bool_at(from, {"hostname"}))
    json::at_path(meta, {"labels", "kubernetes.io/hostname"}) = json::string_at(from, {"name"});
  json::Value spec = json::Object{};
  copy(from, "taints", spec);
  copy(from, "unschedulable", spec);
  json::Value status = json::Object{{"allocatable", allocatable}, {"capacity", allocatable}};
  copy(from, "images", status);
  return json::Object{{"metadata", meta}, {"spec", spec}, {"status", status}};
}

// {name, tier, tierName, nodes: [..], members: [hypernodes]}, or whole members as `selectors`
inline json::Value hyper_node(const json::Value& from) {
  json::Array members;
  auto add = [&](std::string_view list, std::string_view type) {
    if (const json::Array* names = json::array_at(from, {list}))
      for (const json::Value& name : *names)
        members.push_back(json::Object{
            {"type", type},
            {"selector", json::Object{{"exactMatch", json::Object{{"name", text_of(name)}}}}}});
  };
  add("nodes", "Node");
  add("members", "HyperNode");
  if (const json::Array* given = json::array_at(from, {"selectors"}))
    for (const json::Value& one : *given) members.push_back(one);
  json::Value spec = json::Object{{"members", std::move(members)}};
  copy(from, "tier", spec);
  copy(from, "tierName", spec);
  return json::Object{{"metadata", json::Object{{"name", json::string_at(from, {"name"})}}},
                      {"spec", std::move(spec)}};
}

// {name, weight, priority, capability, deserved, guarantee, reclaimable, parent, state (Open),
// annotations, created}
inline json::Value queue(const json::Value& from) {
  json::Value spec = json::Object{{"weight", 1}};
  for (std::string_view name :
       {"weight", "priority", "reclaimable", "parent", "capability", "deserved", "affinity"})
    copy(from, name, spec);
  if (const json::Value* guarantee = json::find(from, "guarantee"))
    spec.as_object()["guarantee"] = json::Object{{"resource", *guarantee}};
  json::Value status = json::Object{{"state", "Open"}};
  copy(from, "state", status);
  std::string name(json::string_at(from, {"name"}));
  json::Value meta = json::Object{{"name", name}, {"uid", "queue-" + name}};
  copy(from, "annotations", meta);
  if (std::int64_t created = json::int_at(from, {"created"}); created != 0)
    meta.as_object()["creationTimestamp"] =
        model::format_rfc3339(WallTime(std::chrono::seconds(1700000000 + created)));
  return json::Object{{"metadata", meta}, {"spec", spec}, {"status", status}};
}

// {name, namespace, minMember, minTaskMember, minResources, queue, priorityClassName, phase,
// created}
inline json::Value group(const json::Value& from, int order) {
  std::string name(json::string_at(from, {"name"}));
  std::string_view ns = json::string_at(from, {"namespace"});
  json::Value spec = json::Object{{"minMember", json::int_at(from, {"minMember"})}};
  for (std::string_view member : {"minTaskMember", "minResources", "queue", "priorityClassName",
                                  "networkTopology", "subGroupPolicy"})
    copy(from, member, spec);
  WallTime created(std::chrono::seconds(1700000000 + json::int_at(from, {"created"}, order)));
  json::Value status = json::Object{};
  copy(from, "phase", status);
  json::Value meta = json::Object{{"name", name},
                                  {"namespace", ns.empty() ? "default" : ns},
                                  {"uid", "group-" + name},
                                  {"creationTimestamp", model::format_rfc3339(created)}};
  copy(from, "annotations", meta);
  return json::Object{{"metadata", std::move(meta)}, {"spec", spec}, {"status", status}};
}

// {name, namespace, group, role, node, phase, deleting, schedulerName, priority, nominated, gated,
// cpu, memory, resources, spec: {anything of a PodSpec}, annotations}
inline json::Value pod(const json::Value& from, int order) {
  std::string name(json::string_at(from, {"name"}));
  std::string_view ns = json::string_at(from, {"namespace"});
  json::Value annotations = json::Object{};
  copy(from, "annotations", annotations);
  if (const json::Object* given = json::object_at(from, {"annotations"})) annotations = *given;
  if (std::string_view group = json::string_at(from, {"group"}); !group.empty())
    annotations.as_object()[model::keys::group_name] = group;
  if (std::string_view role = json::string_at(from, {"role"}); !role.empty())
    annotations.as_object()[model::keys::task_spec] = role;
  WallTime created(std::chrono::seconds(1700000000 + json::int_at(from, {"created"}, order)));
  json::Value meta = json::Object{{"name", name},
                                  {"namespace", ns.empty() ? "default" : ns},
                                  {"uid", "pod-" + name},
                                  {"creationTimestamp", model::format_rfc3339(created)},
                                  {"annotations", annotations}};
  copy(from, "labels", meta);
  if (json::bool_at(from, {"deleting"}))
    meta.as_object()["deletionTimestamp"] = model::format_rfc3339(created);
  json::Object container{{"name", "main"}, {"image", "busybox"}};
  if (std::string_view image = json::string_at(from, {"image"}); !image.empty())
    container["image"] = image;
  container["resources"] = json::Object{{"requests", amounts(from)}};
  if (std::int64_t port = json::int_at(from, {"hostPort"}); port != 0)
    container["ports"] = json::Array{json::Object{{"containerPort", port}, {"hostPort", port}}};
  json::Value spec =
      json::Object{{"schedulerName", "volcano"}, {"containers", json::Array{container}}};
  for (std::string_view member : {"schedulerName", "priority"}) copy(from, member, spec);
  if (std::string_view node = json::string_at(from, {"node"}); !node.empty())
    spec.as_object()["nodeName"] = node;
  if (json::bool_at(from, {"gated"}))
    spec.as_object()["schedulingGates"] = json::Array{json::Object{{"name", "wait"}}};
  if (const json::Object* given = json::object_at(from, {"spec"}))
    for (const auto& member : *given) spec.as_object()[member.key()] = member.value();
  json::Value status = json::Object{{"phase", "Pending"}};
  copy(from, "phase", status);
  copy(from, "startTime", status);
  if (std::string_view nominated = json::string_at(from, {"nominated"}); !nominated.empty())
    status.as_object()["nominatedNodeName"] = nominated;
  return json::Object{{"metadata", meta}, {"spec", spec}, {"status", status}};
}

// The pods a group asks for: `pods: n` of `each`, named <group>-<i>; or `roles: {worker: {pods,
// each}}`, named <group>-<role>-<i>.
inline std::vector<json::Value> pods_of(const json::Value& group) {
  std::vector<json::Value> out;
  std::string name(json::string_at(group, {"name"}));
  auto add = [&](const json::Value& from, const std::string& prefix, std::string_view role) {
    for (std::int64_t i = 0; i < json::int_at(from, {"pods"}); ++i) {
      const json::Value* each = json::find(from, "each");
      json::Value one = each ? *each : json::Value(json::Object{});
      one.as_object()["name"] = prefix + "-" + std::to_string(i);
      one.as_object()["group"] = name;
      if (!role.empty()) one.as_object()["role"] = role;
      copy(group, "namespace", one);
      out.push_back(std::move(one));
    }
  };
  add(group, name, {});
  if (const json::Object* roles = json::object_at(group, {"roles"}))
    for (const auto& role : *roles)
      add(role.value(), name + "-" + std::string(role.key()), role.key());
  return out;
}

}  // namespace hekla::scheduler::shorthand
