#include "controllers/cluster/pod_removal.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "model/time.h"

namespace hekla::controllers {
namespace {

constexpr Nanos kSweep = std::chrono::seconds(20);
constexpr Nanos kQuarantine = std::chrono::seconds(40);  // a node may come back under its name
constexpr std::size_t kMaxEnded = 12'500;

bool evicts(const json::Value& taint) { return json::string_at(taint, {"effect"}) == "NoExecute"; }

const json::Array& evicting_taints(const AnyRef& node, json::Array& scratch) {
  if (node)
    if (const json::Array* taints = json::array_at(node->spec, {"taints"}))
      for (const json::Value& taint : *taints)
        if (evicts(taint)) scratch.push_back(taint);
  return scratch;
}

bool tolerates_taint(const model::Toleration& toleration, const json::Value& taint) {
  if (!toleration.effect.empty() && toleration.effect != "NoExecute") return false;
  if (!toleration.key.empty() && toleration.key != json::string_at(taint, {"key"})) return false;
  if (toleration.op == "Exists") return true;
  return !toleration.key.empty() && toleration.value == json::string_at(taint, {"value"});
}

json::Object disruption_target(std::string_view reason, std::string_view message, WallTime now) {
  return json::Object{{"type", "DisruptionTarget"},
                      {"status", "True"},
                      {"reason", reason},
                      {"message", message},
                      {"lastTransitionTime", model::format_rfc3339(now)}};
}

kube::Write mark(const model::Pod& pod, json::Object status) {
  kube::Write write =
      merge_patch(kube::resources::pods, key_of(pod.metadata),
                  json::Object{{"metadata", json::Object{{"uid", pod.metadata.uid}}},
                               {"status", std::move(status)}},
                  "status");
  write.patch_type = kube::PatchType::strategic;
  return write;
}

kube::EventTarget pod_target(const model::Pod& pod) {
  return {"v1", "Pod", pod.metadata.ns, pod.metadata.name, pod.metadata.uid};
}

}  // namespace

std::optional<Nanos> time_to_stay(const model::Pod& pod, const json::Array& taints) {
  std::optional<std::int64_t> least;
  for (const json::Value& taint : taints) {
    if (!evicts(taint)) continue;
    bool tolerated = false;
    for (const model::Toleration& one : pod.spec.tolerations) {
      if (!tolerates_taint(one, taint)) continue;
      tolerated = true;
      if (!one.tolerationSeconds) continue;
      std::int64_t seconds = std::max<std::int64_t>(0, *one.tolerationSeconds);
      least = std::min(least.value_or(seconds), seconds);
    }
    if (!tolerated) return Nanos(0);
  }
  if (!least) return std::nullopt;
  return Nanos(std::chrono::seconds(*least));
}

PodRemoval::PodRemoval(kube::CacheSet& caches, NodeHealth& health)
    : caches_(caches),
      pods_(caches.of<model::Pod>(kube::resources::pods)),
      events_(caches.client(), "taint-eviction-controller"),
      health_(health),
      loop_(caches, {.name = "taint-eviction"},
            [this](const kube::Key& key, WallTime now) { return evict_round(key, now); }) {
  health_.nodes().on_change([this](const AnyRef& before, const AnyRef& after) {
    json::Array old, now;
    if (json::equal(evicting_taints(before, old), evicting_taints(after, now))) return;
    for (const PodRef& pod : health_.pods_on((after ? after : before)->metadata.name))
      loop_.add(key_of(pod->metadata));
  });
  pods_.on_change([this](const PodRef& before, const PodRef& after) {
    if (!after) {
      marked_.erase(before->metadata.uid);
      return;
    }
    if (after->spec.nodeName.empty()) return;
    json::Array taints;
    if (marked_.contains(after->metadata.uid) ||
        !evicting_taints(health_.nodes().get({"", after->spec.nodeName}), taints).empty())
      loop_.add(key_of(after->metadata));
  });
  caches_.on_synced([this] { loop_.enable(); });
}

kube::Round PodRemoval::evict_round(const kube::Key& key, WallTime now) {
  kube::Round round;
  PodRef pod = pods_.get(key);
  if (!pod || pod->metadata.deletionTimestamp || pod->spec.nodeName.empty()) return round;
  json::Array taints;
  evicting_taints(health_.nodes().get({"", pod->spec.nodeName}), taints);
  std::optional<Nanos> stay = time_to_stay(*pod, taints);
  const std::string name = key.ns + "/" + key.name;
  if (!stay) {
    if (marked_.erase(pod->metadata.uid) > 0)
      events_.record(pod_target(*pod), "Normal", "TaintManagerEviction",
                     "Cancelling deletion of Pod " + name);
    return round;
  }
  MonoTime clock = caches_.client().executor().clock().mono();
  MonoTime since = marked_.try_emplace(pod->metadata.uid, clock).first->second;
  if (clock < since + *stay) {
    round.again_after = since + *stay - clock;
    return round;
  }
  events_.record(pod_target(*pod), "Normal", "TaintManagerEviction",
                 "Marking for deletion Pod " + name);
  round.writes.push_back(mark(
      *pod,
      json::Object{{"conditions", json::Array{disruption_target(
                                      "DeletionByTaintManager",
                                      "Taint manager: deleting due to NoExecute taint", now)}}}));
  round.writes.push_back(remove(kube::resources::pods, key, pod->metadata.uid));
  return round;
}

void PodRemoval::sweep_later() {
  caches_.client().executor().post_after(kSweep, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    sweep();
    sweep_later();
  });
}

bool PodRemoval::node_is_gone(const std::string& name, MonoTime now) {
  if (health_.nodes().get({"", name})) {
    missing_.erase(name);
    return false;
  }
  return now - missing_.try_emplace(name, now).first->second >= kQuarantine;
}

void PodRemoval::sweep() {
  if (!caches_.synced()) return;
  const Clock& clock = caches_.client().executor().clock();
  std::vector<PodRef> ended;
  std::vector<kube::Write> writes;
  auto take = [&](const model::Pod& pod) {
    kube::Write write = remove(kube::resources::pods, key_of(pod.metadata), pod.metadata.uid);
    write.grace_period_seconds = 0;
    writes.push_back(std::move(write));
  };
  pods_.for_each([&](const PodRef& pod) {
    if (!pod->spec.nodeName.empty() && node_is_gone(pod->spec.nodeName, clock.mono())) {
      if (!pod_finished(*pod))
        writes.push_back(mark(
            *pod, json::Object{{"phase", "Failed"},
                               {"conditions", json::Array{disruption_target(
                                                  "DeletionByPodGC", "PodGC: node no longer exists",
                                                  clock.wall())}}}));
      take(*pod);
    } else if (pod_finished(*pod) && !pod->metadata.deletionTimestamp) {
      ended.push_back(pod);
    }
  });
  if (ended.size() > kMaxEnded) {
    auto surplus = ended.begin() + static_cast<std::ptrdiff_t>(ended.size() - kMaxEnded);
    std::nth_element(ended.begin(), surplus, ended.end(), [](const PodRef& a, const PodRef& b) {
      return a->metadata.creationTimestamp.at < b->metadata.creationTimestamp.at;
    });
    for (auto it = ended.begin(); it != surplus; ++it) take(**it);
  }
  if (writes.empty()) return;
  caches_.client().batch(std::move(writes), [](const std::vector<kube::WriteResult>& results) {
    for (const kube::WriteResult& result : results)
      if (!result && result.error().code != Code::not_found)
        log_warn("pod-gc", "a pod could not be removed, will be retried",
                 {{"error", result.error().message}});
  });
}

}  // namespace hekla::controllers
