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
  DaemonRound(const DaemonView& view, WallTime now) : view_(view), now_(now) {
    const json::Value& spec = view.set.spec;
    min_ready_ = json::int_at(spec, {"minReadySeconds"});
    rolling_ = json::string_at(spec, {"updateStrategy", "type"}) != "OnDelete";
    const auto tolerations = daemon_tolerations(view.set.pod_template());
    for (const auto& node : view.nodes) {
      fits_.push_back(daemon_fit(view.set.pod_template(), tolerations, *node));
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

  WorkloadPlan plan() {
    std::set<std::string> known;
    std::vector<std::string> updating;
    for (std::size_t i = 0; i < view_.nodes.size(); ++i) {
      const model::Node& node = *view_.nodes[i];
      known.insert(node.metadata.name);
      if (on_node(node, fits_[i])) updating.push_back(node.metadata.name);
    }
    for (const auto& [node, pods] : view_.pods)
      if (!known.contains(node))
        for (const WorkloadPod& pod : pods) drop(*pod);
    if (rolling_) update(updating);
    write_status();
    return std::move(plan_);
  }

 private:
  bool on_node(const model::Node& node, const DaemonFit& fit);
  void update(const std::vector<std::string>& nodes);
  void write_status();
  void make(const std::string& node) {
    plan_.writes.push_back(create(kube::resources::pods, view_.set.metadata.ns,
                                  new_daemon_pod(view_.set, view_.revision, node)));
  }
  void drop(const model::Pod& pod) {
    if (pod.metadata.deletionTimestamp || !dropped_.insert(pod.metadata.uid).second) return;
    plan_.writes.push_back(remove(kube::resources::pods, key_of(pod.metadata), pod.metadata.uid));
  }
  bool fresh(const model::Pod& pod) const {
    return pod.metadata.label("controller-revision-hash") == view_.revision.hash;
  }
  bool available(const model::Pod& pod) {
    return pod_active(pod) && pod_available(pod, min_ready_, now_, plan_.again_after);
  }
  std::vector<WorkloadPod> pods_on(const std::string& node) const {
    auto found = view_.pods.find(node);
    return found == view_.pods.end() ? std::vector<WorkloadPod>{} : found->second;
  }

  const DaemonView& view_;
  WallTime now_;
  WorkloadPlan plan_;
  std::int64_t min_ready_ = 0, surge_ = 0, unavailable_ = 1, desired_ = 0;
  bool rolling_ = true;
  std::vector<DaemonFit> fits_;  // of the nodes, in their order
  std::set<std::string> dropped_;
};

// Brings the node to one pod or none. True when its pod is of an older template.
bool DaemonRound::on_node(const model::Node& node, const DaemonFit& fit) {
  std::vector<WorkloadPod> active;
  bool leaving = false;
  for (const WorkloadPod& pod : pods_on(node.metadata.name)) {
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
      plan_.events.push_back({"Warning", "FailedDaemonPod",
                              "Found failed daemon pod " + pod->metadata.ns + "/" +
                                  pod->metadata.name + " on node " + node.metadata.name +
                                  ", will try to kill it"});
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
    for (const WorkloadPod& pod : active) drop(*pod);
    return false;
  }
  std::sort(active.begin(), active.end(), [&](const WorkloadPod& a, const WorkloadPod& b) {
    if (fresh(*a) != fresh(*b)) return fresh(*a);
    return a->metadata.creationTimestamp.at < b->metadata.creationTimestamp.at;
  });
  // One of each template at most; two templates only while the newer one is not up yet.
  bool seen_fresh = false, seen_stale = false;
  for (const WorkloadPod& pod : active) {
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
    std::vector<WorkloadPod> pods = pods_on(view_.nodes[i]->metadata.name);
    bool up = std::any_of(pods.begin(), pods.end(),
                          [&](const WorkloadPod& pod) { return available(*pod); });
    down += !up;
    bool has_fresh = false, has_stale = false;
    for (const WorkloadPod& pod : pods)
      if (pod_active(*pod)) (fresh(*pod) ? has_fresh : has_stale) = true;
    surging += has_fresh && has_stale;
  }
  for (const std::string& node : nodes)
    for (const WorkloadPod& pod : pods_on(node)) {
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
    std::vector<WorkloadPod> pods;
    for (const WorkloadPod& pod : pods_on(view_.nodes[i]->metadata.name))
      if (!pod_finished(*pod)) pods.push_back(pod);
    if (!fits_[i].should_run) {
      misplaced += !pods.empty();
      continue;
    }
    if (pods.empty()) continue;
    ++scheduled;
    auto any = [&](auto&& holds) {
      return std::any_of(pods.begin(), pods.end(),
                         [&](const WorkloadPod& pod) { return holds(*pod); });
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
  if (auto write = status_write(kube::resources::daemon_sets, view_.set, status))
    plan_.writes.push_back(std::move(*write));
}

}  // namespace

WorkloadPlan plan_daemon_set(const DaemonView& view, WallTime now) {
  return DaemonRound(view, now).plan();
}

WorkloadPlan DaemonSets::plan(const Workload& set, WallTime now) {
  std::vector<kube::Write> writes;
  if (set.metadata.deletionTimestamp) return {};
  std::vector<WorkloadPod> pods = caches_.claim_pods(set, kube::resources::daemon_sets, writes);
  std::vector<RevisionRef> known = caches_.revisions_of(set.metadata.uid);
  DaemonView view{set, {}, {}, {}};
  view.revision = current_template_revision(set, kube::resources::daemon_sets, known, writes);
  std::set<std::string> used{view.revision.name};
  for (const WorkloadPod& pod : pods) {
    view.pods[daemon_node(*pod)].push_back(pod);
    used.insert(pod->metadata.label("controller-revision-hash"));
  }
  caches_.nodes.for_each([&](const auto& node) { view.nodes.push_back(node); });
  trim_revisions(set, known, used, writes);
  WorkloadPlan plan = plan_daemon_set(view, now);
  plan.writes.insert(plan.writes.begin(), writes.begin(), writes.end());
  return plan;
}

DaemonSets::DaemonSets(WorkloadCaches& caches)
    : caches_(caches),
      loop_(caches, caches.daemon_sets, "daemonset",
            [this](const WorkloadRef& set, WallTime now, const std::string*) {
              return plan(*set, now);
            }) {
  caches_.nodes.on_change([this](const auto& before, const auto& after) {
    // Heartbeats do not matter.
    if (before && after && before->metadata.labels == after->metadata.labels &&
        before->spec.taints.size() == after->spec.taints.size() &&
        std::equal(before->spec.taints.begin(), before->spec.taints.end(),
                   after->spec.taints.begin(), [](const model::Taint& a, const model::Taint& b) {
                     return a.key == b.key && a.value == b.value && a.effect == b.effect;
                   }))
      return;
    loop_.add_all();
  });
}

}  // namespace hekla::controllers
