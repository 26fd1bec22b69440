#include "controllers/cluster/node_health.h"

#include <algorithm>

#include "model/time.h"

namespace hekla::controllers {
namespace {

constexpr std::string_view kLeaseNamespace = "kube-node-lease";
// Played by this process: they send no heartbeats and never fall silent.
constexpr const char* kFakeLabel = "hekla.io/fake-node";
constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
constexpr std::string_view kUnreachable = "node.kubernetes.io/unreachable";

struct ConditionTaint {
  std::string_view condition, status, key;
};
constexpr ConditionTaint kConditionTaints[]{
    {"Ready", "False", kNotReady},
    {"Ready", "Unknown", kUnreachable},
    {"MemoryPressure", "True", "node.kubernetes.io/memory-pressure"},
    {"DiskPressure", "True", "node.kubernetes.io/disk-pressure"},
    {"PIDPressure", "True", "node.kubernetes.io/pid-pressure"},
    {"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"},
};
constexpr std::string_view kUnschedulable = "node.kubernetes.io/unschedulable";

const json::Array& taints_of(const AnyObject& node) {
  static const json::Array none;
  const json::Array* found = json::array_at(node.spec, {"taints"});
  return found ? *found : none;
}

bool is_ours(std::string_view key, std::string_view effect) {
  if (effect == "NoExecute") return key == kNotReady || key == kUnreachable;
  return effect == "NoSchedule" &&
         (key == kUnschedulable ||
          std::any_of(std::begin(kConditionTaints), std::end(kConditionTaints),
                      [&](const ConditionTaint& one) { return one.key == key; }));
}

std::string_view condition_status(const AnyObject& node, std::string_view type) {
  const json::Value* found = find_condition(conditions_of(node), type);
  return found ? json::string_at(*found, {"status"}) : std::string_view();
}

kube::EventTarget node_target(const AnyObject& node) {
  return {"v1", "Node", "", node.metadata.name, node.metadata.uid};
}

kube::Write guarded(const kube::Resource& resource, const AnyObject& object, json::Object body,
                    std::string subresource = {}) {
  body["metadata"] = json::Object{{"resourceVersion", object.metadata.resourceVersion}};
  return merge_patch(resource, key_of(object.metadata), std::move(body), std::move(subresource));
}

}  // namespace

json::Array wanted_taints(const AnyObject& node, WallTime now) {
  json::Array taints;
  for (const json::Value& taint : taints_of(node))
    if (!is_ours(json::string_at(taint, {"key"}), json::string_at(taint, {"effect"})))
      taints.push_back(taint);
  auto add = [&](std::string_view key, std::string_view effect) {
    for (const json::Value& old : taints_of(node))
      if (json::string_at(old, {"key"}) == key && json::string_at(old, {"effect"}) == effect)
        return taints.push_back(old);  // with the time it was put there
    json::Object taint{{"key", key}, {"effect", effect}};
    if (effect == "NoExecute") taint["timeAdded"] = model::format_rfc3339(now);
    taints.push_back(std::move(taint));
  };
  for (const ConditionTaint& one : kConditionTaints)
    if (condition_status(node, one.condition) == one.status) {
      add(one.key, "NoSchedule");
      if (one.condition == "Ready") add(one.key, "NoExecute");
    }
  if (json::bool_at(node.spec, {"unschedulable"})) add(kUnschedulable, "NoSchedule");
  return taints;
}

NodeHealth::NodeHealth(kube::CacheSet& caches, NodeHealthOptions options)
    : caches_(caches),
      events_(caches.client(), "node-controller"),
      options_(options),
      pods_(caches.of<model::Pod>(kube::resources::pods)),
      nodes_(caches.of<AnyObject>(kube::resources::nodes)),
      leases_(caches.of<AnyObject>(kube::resources::leases, {.ns = std::string(kLeaseNamespace)})),
      pods_by_node_(pods_.add_index([](const model::Pod& pod, std::vector<std::string>& keys) {
        if (!pod.spec.nodeName.empty()) keys.push_back(pod.spec.nodeName);
      })),
      loop_(caches, {.name = "node-lifecycle"},
            [this](const kube::Key& key, WallTime now) { return round(key, now); }) {
  nodes_.on_change([this](const AnyRef& before, const AnyRef& after) {
    const AnyObject& node = after ? *after : *before;
    if (!after)
      events_.record(node_target(node), "Normal", "RemovingNode",
                     "Node " + node.metadata.name + " event: Removing Node " + node.metadata.name +
                         " from Controller");
    loop_.add(key_of(node.metadata));
  });
  caches_.on_synced([this] { loop_.enable(); });
}

std::vector<PodRef> NodeHealth::pods_on(const std::string& node) const {
  return pods_.by(pods_by_node_, node);
}

bool NodeHealth::is_silent(const AnyObject& node, MonoTime now) {
  const json::Value* ready = find_condition(conditions_of(node), "Ready");
  Heard last;
  if (ready) last.heartbeat = json::string_at(*ready, {"lastHeartbeatTime"});
  if (AnyRef lease = leases_.get({std::string(kLeaseNamespace), node.metadata.name}))
    last.renewal = json::string_at(lease->spec, {"renewTime"});
  auto [found, fresh] = heard_.try_emplace(node.metadata.uid, last);
  Heard& known = found->second;
  if (fresh || known.heartbeat != last.heartbeat || known.renewal != last.renewal) {
    known = std::move(last);
    known.at = now;
  }
  return now - known.at >= (ready ? options_.grace : options_.startup_grace);
}

void NodeHealth::mark_unknown(const AnyObject& node, WallTime now,
                              std::vector<kube::Write>& writes) {
  json::Array conditions = conditions_of(node);
  const std::string stamp = model::format_rfc3339(now);
  for (std::string_view type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}) {
    auto old = std::find_if(conditions.begin(), conditions.end(), [&](const json::Value& one) {
      return json::string_at(one, {"type"}) == type;
    });
    if (old == conditions.end()) {
      conditions.push_back(
          json::Object{{"type", type},
                       {"status", "Unknown"},
                       {"lastHeartbeatTime",
                        model::format_rfc3339(node.metadata.creationTimestamp.at.value_or(now))},
                       {"lastTransitionTime", stamp},
                       {"reason", "NodeStatusNeverUpdated"},
                       {"message", "Kubelet never posted node status."}});
    } else if (json::string_at(*old, {"status"}) != "Unknown") {
      json::Object& condition = old->get_object();
      condition["status"] = "Unknown";
      condition["reason"] = "NodeStatusUnknown";
      condition["message"] = "Kubelet stopped posting node status.";
      condition["lastTransitionTime"] = stamp;
    }
  }
  if (json::equal(conditions, conditions_of(node))) return;
  if (condition_status(node, "Ready") == "True")
    events_.record(node_target(node), "Normal", "NodeNotReady",
                   "Node " + node.metadata.name + " status is now: NodeNotReady");
  writes.push_back(guarded(
      kube::resources::nodes, node,
      json::Object{{"status", json::Object{{"conditions", std::move(conditions)}}}}, "status"));
}

void NodeHealth::mark_pods(const AnyObject& node, WallTime now, std::vector<kube::Write>& writes) {
  for (const PodRef& pod : pods_on(node.metadata.name)) {
    if (!pod_ready(*pod)) continue;
    kube::Write write = merge_patch(
        kube::resources::pods, key_of(pod->metadata),
        json::Object{{"metadata", json::Object{{"uid", pod->metadata.uid}}},
                     {"status", json::Object{{"conditions", json::Array{json::Object{
                                                                {"type", "Ready"},
                                                                {"status", "False"},
                                                                {"lastTransitionTime",
                                                                 model::format_rfc3339(now)}}}}}}},
        "status");
    write.patch_type = kube::PatchType::strategic;  // the other conditions are the kubelet's
    writes.push_back(std::move(write));
    events_.record({"v1", "Pod", pod->metadata.ns, pod->metadata.name, pod->metadata.uid},
                   "Warning", "NodeNotReady", "Node is not ready");
  }
}

kube::Round NodeHealth::round(const kube::Key& key, WallTime now) {
  kube::Round round;
  AnyRef node = nodes_.get(key);
  if (!node) return round;
  if (!heard_.contains(node->metadata.uid))
    events_.record(node_target(*node), "Normal", "RegisteredNode",
                   "Node " + key.name + " event: Registered Node " + key.name + " in Controller");
  const bool fake = node->metadata.label(kFakeLabel) == "true";
  bool silent = is_silent(*node, caches_.client().executor().clock().mono());
  if (!fake) {
    round.again_after = options_.period;
    if (silent) mark_unknown(*node, now, round.writes);
  }
  // The taints follow once the conditions are written.
  if (!round.writes.empty()) return round;
  json::Array taints = wanted_taints(*node, now);
  if (!json::equal(taints, taints_of(*node)))
    round.writes.push_back(
        guarded(kube::resources::nodes, *node,
                json::Object{{"spec", json::Object{{"taints", std::move(taints)}}}}));
  std::string_view ready = condition_status(*node, "Ready");
  if (ready == "False" || ready == "Unknown") mark_pods(*node, now, round.writes);
  return round;
}

}  // namespace hekla::controllers
