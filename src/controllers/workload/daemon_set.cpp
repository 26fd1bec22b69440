#include "controllers/workload/daemon_set.h"

#include <algorithm>
#include <chrono>

#include "controllers/workload/batch_job.h"

namespace hekla::controllers {
namespace {

// The node a daemon's pod is bound to, or will be.
std::string daemon_node(const model::Pod& pod) {
  if (!pod.spec.nodeName.empty()) return pod.spec.nodeName;
  const json::Array* terms = json::array_at(
      pod.spec.affinity,
      {"nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  if (!terms) return "";
  for (const json::Value& term : *terms)
    if (const json::Array* fields = json::array_at(term, {"matchFields"}))
      for (const json::Value& field : *fields)
        if (const json::Array* values = json::array_at(field, {"values"});
            values && values->size() == 1 && (*values)[0].is_string())
          return std::string(json::sv((*values)[0].get_string()));
  return "";
}

class DaemonRound {
 public:
  DaemonRound(const DaemonView& view, WallTime now, Outcome outcome)
      : view_(view), now_(now), plan_(std::move(outcome)) {
    const json::Value& spec = view.set.spec;
    min_ready_ = json::int_at(spec, {"minReadySeconds"});
    rolling_ = json::string_at(spec, {"updateStrategy", "type"}) != "OnDelete";
    const auto tolerations = daemon_tolerations(template_of(view.set));
    for (const auto& node : view.nodes) {
      fits_.push_back(daemon_fit(template_of(view.set), tolerations, *node));
      desired_ += fits_.back().should_run;
    }
    auto number = [&](std::string_view member, std::int64_t otherwise) {
      return int_or_percent(json::find_path(spec, {"updateStrategy", "rollingUpdate", member}),
                            desired_, true, otherwise);
    };
    surge_ = number("maxSurge", 0);
    unavailable_ = number("maxUnavailable", surge_ > 0 ? 0 : 1);
    if (surge_ == 0 && unavailable_ == 0) unavailable_ = 1;
  }

  Outcome plan() {
    std::set<std::string> known;
    std::vector<std::string> updating;
    for (std::size_t i = 0; i < view_.nodes.size(); ++i) {
      const model::Node& node = *view_.nodes[i];
      known.insert(node.metadata.name);
      if (on_node(node, fits_[i])) updating.push_back(node.metadata.name);
    }
    for (const auto& [node, pods] : view_.pods)
      if (!known.contains(node))
        for (const PodRef& pod : pods) drop(*pod);
    if (rolling_) update(updating);
    write_status();
    return std::move(plan_);
  }

 private:
  bool on_node(const model::Node& node, const DaemonFit& fit);
  void update(const std::vector<std::string>& nodes);
  void write_status();
  void make(const std::string& node) {
    plan_.children.push_back(
        once(kube::resources::pods, new_daemon_pod(view_.set, view_.revision, node)));
  }
  void drop(const model::Pod& pod) {
    if (pod.metadata.deletionTimestamp || !dropped_.insert(pod.metadata.uid).second) return;
    plan_.removals.push_back(removal_of(kube::resources::pods, pod.metadata));
  }
  bool fresh(const model::Pod& pod) const {
    return pod.metadata.label("controller-revision-hash") == view_.revision.hash;
  }
  bool available(const model::Pod& pod) {
    return pod_active(pod) && pod_available(pod, min_ready_, now_, plan_.again_after);
  }
  std::vector<PodRef> pods_on(const std::string& node) const {
    auto found = view_.pods.find(node);
    return found == view_.pods.end() ? std::vector<PodRef>{} : found->second;
  }

  const DaemonView& view_;
  WallTime now_;
  Outcome plan_;
  std::int64_t min_ready_ = 0, surge_ = 0, unavailable_ = 1, desired_ = 0;
  bool rolling_ = true;
  std::vector<DaemonFit> fits_;  // of the nodes, in their order
  std::set<std::string> dropped_;
};

// Brings the node to one pod or none. True when its pod is of an older template.
bool DaemonRound::on_node(const model::Node& node, const DaemonFit& fit) {
  std::vector<PodRef> active;
  bool leaving = false;
  for (const PodRef& pod : pods_on(node.metadata.name)) {
    if (pod->metadata.deletionTimestamp) {
      leaving = true;
    } else if (pod->status.phase == "Failed") {
      // Not at once, or a pod that cannot run would be made over and over.
      WallTime from = pod_ended_at(*pod).value_or(now_) + std::chrono::seconds(1);
      if (from > now_) {
        wake_in(plan_.again_after, from - now_);
        leaving = true;
        continue;
      }
      plan_.tell("Warning", "FailedDaemonPod",
                 "Found failed daemon pod " + pod->metadata.ns + "/" + pod->metadata.name +
                     " on node " + node.metadata.name + ", will try to kill it");
      drop(*pod);
    } else if (pod->status.phase == "Succeeded") {
      drop(*pod);
    } else {
      active.push_back(pod);
    }
  }
  if (active.empty()) {
    if (fit.should_run && !leaving) make(node.metadata.name);
    return false;
  }
  if (!fit.may_stay) {
    for (const PodRef& pod : active) drop(*pod);
    return false;
  }
  std::sort(active.begin(), active.end(), [&](const PodRef& a, const PodRef& b) {
    if (fresh(*a) != fresh(*b)) return fresh(*a);
    return a->metadata.creationTimestamp.at < b->metadata.creationTimestamp.at;
  });
  // One of each template at most; two templates only while the newer one is not up yet.
  bool seen_fresh = false, seen_stale = false;
  for (const PodRef& pod : active) {
    bool& seen = fresh(*pod) ? seen_fresh : seen_stale;
    if (seen || (!fresh(*pod) && seen_fresh && (surge_ == 0 || available(*active.front()))))
      drop(*pod);
    seen = true;
  }
  return !seen_fresh;
}

void DaemonRound::update(const std::vector<std::string>& nodes) {
  std::int64_t down = 0, surging = 0;
  for (std::size_t i = 0; i < view_.nodes.size(); ++i) {
    if (!fits_[i].should_run) continue;
    std::vector<PodRef> pods = pods_on(view_.nodes[i]->metadata.name);
    bool up =
        std::any_of(pods.begin(), pods.end(), [&](const PodRef& pod) { return available(*pod); });
    down += !up;
    bool has_fresh = false, has_stale = false;
    for (const PodRef& pod : pods)
      if (pod_active(*pod)) (fresh(*pod) ? has_fresh : has_stale) = true;
    surging += has_fresh && has_stale;
  }
  for (const std::string& node : nodes)
    for (const PodRef& pod : pods_on(node)) {
      if (!pod_active(*pod) || fresh(*pod)) continue;
      if (!available(*pod)) {
        drop(*pod);
      } else if (surge_ > 0) {
        if (surging++ < surge_) make(node);
      } else if (down < unavailable_) {
        ++down;
        drop(*pod);
      }
    }
}

void DaemonRound::write_status() {
  std::int64_t scheduled = 0, misplaced = 0, ready = 0, updated = 0, up = 0;
  for (std::size_t i = 0; i < view_.nodes.size(); ++i) {
    std::vector<PodRef> pods;
    for (const PodRef& pod : pods_on(view_.nodes[i]->metadata.name))
      if (!pod_finished(*pod)) pods.push_back(pod);
    if (!fits_[i].should_run) {
      misplaced += !pods.empty();
      continue;
    }
    if (pods.empty()) continue;
    ++scheduled;
    auto any = [&](auto&& holds) {
      return std::any_of(pods.begin(), pods.end(), [&](const PodRef& pod) { return holds(*pod); });
    };
    ready += any([](const model::Pod& pod) { return pod_ready(pod); });
    up += any([&](const model::Pod& pod) { return available(pod); });
    updated += any([&](const model::Pod& pod) { return fresh(pod); });
  }
  json::Object status{{"currentNumberScheduled", scheduled},
                      {"numberMisscheduled", misplaced},
                      {"desiredNumberScheduled", desired_},
                      {"numberReady", ready}};
  put_count(status, "observedGeneration", view_.set.metadata.generation);
  put_count(status, "updatedNumberScheduled", updated);
  put_count(status, "numberAvailable", up);
  put_count(status, "numberUnavailable", std::max<std::int64_t>(0, desired_ - up));
  plan_.status = std::move(status);
}

Outcome reconcile_daemon_set(const AnyObject& set, const View& seen) {
  Outcome outcome;
  std::vector<RevisionRef> known =
      seen.children<ControllerRevision>(workload_resources::controller_revisions);
  DaemonView view{set, {}, {}, {}};
  view.revision = current_template_revision(set, known, outcome);
  std::set<std::string> used{view.revision.name};
  for (const PodRef& pod : seen.pods()) {
    view.pods[daemon_node(*pod)].push_back(pod);
    used.insert(pod->metadata.label("controller-revision-hash"));
  }
  seen.cache<model::Node>(kube::resources::nodes).for_each([&](const auto& node) {
    view.nodes.push_back(node);
  });
  trim_revisions(set, known, used, outcome);
  return DaemonRound(view, seen.now(), std::move(outcome)).plan();
}

bool same_taint(const model::Taint& a, const model::Taint& b) {
  return a.key == b.key && a.value == b.value && a.effect == b.effect;
}

// Heartbeats do not matter.
void wake_by_node(const model::Node* before, const model::Node* after, const Wake& wake) {
  if (before && after && before->metadata.labels == after->metadata.labels &&
      std::equal(before->spec.taints.begin(), before->spec.taints.end(), after->spec.taints.begin(),
                 after->spec.taints.end(), same_taint))
    return;
  wake.all();
}

}  // namespace

KindDescription daemon_set_kind() {
  OwnedKind pods = owned_pods();
  pods.slow_start = false;
  return {.name = "daemonset-controller",
          .resource = kube::resources::daemon_sets,
          .owns = {std::move(pods), owned_revisions()},
          .follows = {follow<model::Node>(kube::resources::nodes, wake_by_node)},
          .reconcile = reconcile_daemon_set};
}

}  // namespace hekla::controllers
