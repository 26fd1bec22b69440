// predicates: the Kubernetes filters, in their order: room for one more pod, unschedulable nodes,
// node selector and affinity, host ports, taints, pod affinity and anti-affinity, topology spread.
// Pods are never walked over: what stands where is known as counts per term and topology domain
// (cluster/pod_terms.h). Resources are not checked here; the actions do
// that first. A reason that no eviction could remove ends the check of that node, the others add
// up.
//
// Pods with persistent volume claims are also checked one by one (cluster/volume_fit.h): whether
// their volumes can be reached from a node, or found or made there, zones, and how many a node
// holds; pods with resource claims as well: whether a node has the devices
// (cluster/dynamic_resources.h).
//
// Arguments (all true): predicate.NodeAffinityEnable, predicate.NodePortsEnable,
// predicate.TaintTolerationEnable, predicate.PodAffinityEnable, predicate.PodTopologySpreadEnable,
// predicate.VolumeBindingEnable, predicate.VolumeZoneEnable, predicate.NodeVolumeLimitsEnable,
// predicate.DynamicResourceAllocationEnable.
//
// Differs from Volcano: a claim that only one pod may have (ReadWriteOncePod) keeps others away; a
// pod whose volume is still to be made is bound at once, its node waits for the volume.
#include <algorithm>

#include "scheduler/cluster/volume_fit.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

class Predicates final : public Plugin {
 public:
  explicit Predicates(const Arguments& arguments)
      : affinity_(arguments.boolean("predicate.NodeAffinityEnable", true)),
        ports_(arguments.boolean("predicate.NodePortsEnable", true)),
        taints_(arguments.boolean("predicate.TaintTolerationEnable", true)),
        neighbours_(arguments.boolean("predicate.PodAffinityEnable", true)),
        spread_(arguments.boolean("predicate.PodTopologySpreadEnable", true)),
        volumes_{arguments.boolean("predicate.VolumeBindingEnable", true),
                 arguments.boolean("predicate.VolumeZoneEnable", true),
                 arguments.boolean("predicate.NodeVolumeLimitsEnable", true)},
        devices_(arguments.boolean("predicate.DynamicResourceAllocationEnable", true)) {
    arguments.ignore("predicate.CacheEnable");  // what a class of pods may use is always remembered
  }

  Hooks hooks() const override {
    return hooks_of({Hook::predicate, Hook::task_predicate, Hook::reserve, Hook::prepare_bind});
  }

  void open(Session& session) override {
    session_ = &session;
    untolerated_.clear();
    Reasons& reasons = session.reasons();
    pod_number_ = reasons.intern("node(s) pod number exceeded", true);
    unschedulable_ = reasons.intern("node(s) were unschedulable");
    no_match_ = reasons.intern("node(s) didn't match Pod's node affinity/selector");
    no_ports_ = reasons.intern("node(s) didn't have free ports for the requested pod ports", true);
    no_affinity_ = reasons.intern("node(s) didn't match pod affinity rules");
    no_anti_ = reasons.intern("node(s) didn't match pod anti-affinity rules", true);
    no_existing_ = reasons.intern("node(s) didn't satisfy existing pods anti-affinity rules", true);
    no_spread_ = reasons.intern("node(s) didn't match pod topology spread constraints", true);
    no_label_ = reasons.intern(
        "node(s) didn't match pod topology spread constraints (missing required label)");
    cordon_ = {session.cluster().names().find("node.kubernetes.io/unschedulable"),
               session.cluster().names().find(""), Effect::no_schedule};
  }

  // ---- volumes and devices
  bool concerns(TaskId id) const override {
    const Task& task = session_->at(id);
    return !task.claims.empty() || (devices_ && !task.device_claims.empty());
  }
  ReasonId pre_filter(TaskId id) override {
    const Cluster& cluster = session_->cluster();
    const Task& task = session_->at(id);
    std::string blocked = volumes_.binding ? blocked_claims(cluster, task) : std::string();
    std::string_view filter = "VolumeBinding";
    if (blocked.empty() && devices_) {
      blocked = cluster.dynamic_resources().blocked(task);
      filter = "DynamicResources";
    }
    if (blocked.empty()) return kFeasible;
    if (!session_->at(task.job).implicit)
      blocked = "plugin " + std::string(filter) + " pre-predicates failed " + blocked;
    return session_->reasons().intern(blocked);
  }
  void filter_task(TaskId id, std::span<const NodeId> nodes, std::span<ReasonId> reasons) override {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (reasons[i] != kFeasible) continue;
      VolumeConflict conflict = volume_conflict(session_->cluster(), id, nodes[i], volumes_);
      if (conflict != VolumeConflict::none) {
        bool removable = conflict == VolumeConflict::once_pod || conflict == VolumeConflict::limit;
        reasons[i] = session_->reasons().intern(words_for(conflict), removable);
        continue;
      }
      std::string why;
      if (!choose_devices(id, nodes[i], why)) reasons[i] = session_->reasons().intern(why);
    }
  }
  bool reserve(TaskId id, NodeId node) override {
    std::string why;
    std::optional<std::vector<ClaimDevices>> devices = choose_devices(id, node, why);
    if (!devices) return false;
    if (!devices->empty()) session_->assume(id, node, *devices);
    if (!volumes_.binding) return true;
    for (const ClaimPlan& plan : plan_claims(session_->cluster(), session_->at(id), node))
      session_->assume(id, plan.claim, plan.volume, node);
    return true;
  }
  void prepare_bind(TaskId id, NodeId, BindPreparation& with) override {
    for (const ClaimUse& use : session_->at(id).claims) {
      const VolumeClaim& claim = session_->cluster().volumes().at(use.claim);
      if (claim.bound || claim.assumed_for != id) continue;
      with.claims.push_back({claim.ns, claim.name, claim.uid,
                             claim.assumed_volume.valid()
                                 ? session_->cluster().volumes().at(claim.assumed_volume).name
                                 : std::string()});
    }
    if (!devices_) return;
    const Task& task = session_->at(id);
    const DynamicResources& resources = session_->cluster().dynamic_resources();
    for (const DeviceClaim& use : task.device_claims) {
      std::string key = task.ns + "/" + use.object;
      with.devices.push_back(
          {task.ns, use.object, resources.allocation_of(key), resources.reserved_for(key, task)});
    }
  }

  void filter(const PodClass& pods, std::span<const NodeId> nodes,
              std::span<ReasonId> reasons) override {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (reasons[i] == kFeasible)
        reasons[i] = check(pods, nodes[i], session_->cluster().at(nodes[i]));
  }

  void group_by(const PodClass& pods, std::vector<const Topology*>& groups) const override {
    each_term(pods, [&](TermId id) {
      const Topology& topology = session_->cluster().terms().topology(id);
      if (!topology.fine && std::find(groups.begin(), groups.end(), &topology) == groups.end())
        groups.push_back(&topology);
    });
  }
  ReasonId filter_group(const PodClass& pods, NodeId node) override {
    ReasonId reason = check_affinity(pods, node, false);
    if (reason == no_affinity_) return reason;
    return session_->reasons().join(reason, check_spread(pods, node, false));
  }
  std::uint64_t epoch(const PodClass& pods) const override {
    std::uint64_t sum = 0;
    each_term(pods, [&](TermId id) {
      if (session_->cluster().terms().topology(id).fine)
        sum += session_->cluster().terms().at(id).epoch;
    });
    return sum;
  }

 private:
  // What the pod's resource claims would get; nothing if they cannot have it.
  std::optional<std::vector<ClaimDevices>> choose_devices(TaskId id, NodeId node,
                                                          std::string& why) const {
    const Task& task = session_->at(id);
    if (!devices_ || task.device_claims.empty()) return std::vector<ClaimDevices>();
    const Cluster& cluster = session_->cluster();
    return cluster.dynamic_resources().choose(task, cluster.at(node), cluster.names(), why);
  }

  template <class Visit>
  static void each_term(const PodClass& pods, Visit visit) {
    for (TermId id : pods.terms.affinity) visit(id);
    for (TermId id : pods.terms.anti) visit(id);
    for (TermId id : pods.terms.matched) visit(id);
    for (const ClassTerms::Spread& spread : pods.terms.spread)
      if (!spread.soft) visit(spread.term);
  }

  ReasonId check(const PodClass& pods, NodeId id, const Node& node) {
    ReasonId reason = kFeasible;
    if (node.shape.allocatable[kPods] <= node.pods) reason = pod_number_;
    Reasons& table = session_->reasons();
    if (node.shape.unschedulable && !pods.tolerates(cordon_))
      return table.join(reason, unschedulable_);
    if (affinity_ && !matches_node(pods, node, session_->cluster().names()))
      return table.join(reason, no_match_);
    if (ports_ && collides(pods, node)) reason = table.join(reason, no_ports_);
    if (taints_) {
      for (const Taint& taint : node.shape.taints) {
        bool hard = taint.effect == Effect::no_schedule || taint.effect == Effect::no_execute;
        if (hard && !pods.tolerates(taint)) return table.join(reason, untolerated(taint));
      }
    }
    if (pods.terms.empty()) return reason;
    ReasonId affinity = check_affinity(pods, id, true);
    if (affinity == no_affinity_) return table.join(reason, affinity);
    reason = table.join(reason, affinity);
    return table.join(reason, check_spread(pods, id, true));
  }

  // Of topologies with few nodes per domain if `fine`, else of the others.
  ReasonId check_affinity(const PodClass& pods, NodeId node, bool fine) const {
    if (!neighbours_) return kFeasible;
    const PodTerms& terms = session_->cluster().terms();
    bool first = pods.terms.affinity_self;
    for (TermId id : pods.terms.affinity) first &= terms.at(id).total == 0;
    for (TermId id : pods.terms.affinity) {
      if (terms.topology(id).fine != fine) continue;
      std::uint32_t domain = terms.domain(id, node);
      if (domain == Topology::kNone) return no_affinity_;
      // The first of a group of pods that want to be together may go anywhere.
      if (!first && terms.at(id).count[domain] == 0) return no_affinity_;
    }
    for (TermId id : pods.terms.anti)
      if (terms.topology(id).fine == fine && terms.at(id).at(terms.domain(id, node)) > 0)
        return no_anti_;
    for (TermId id : pods.terms.matched) {
      if (terms.at(id).spec.use != TermUse::anti || terms.topology(id).fine != fine) continue;
      std::uint32_t domain = terms.domain(id, node);
      if (domain != Topology::kNone && terms.at(id).carried[domain] > 0) return no_existing_;
    }
    return kFeasible;
  }

  ReasonId check_spread(const PodClass& pods, NodeId node, bool fine) const {
    if (!spread_) return kFeasible;
    const PodTerms& terms = session_->cluster().terms();
    for (const ClassTerms::Spread& spread : pods.terms.spread) {
      if (spread.soft || terms.topology(spread.term).fine != fine) continue;
      const PodTerm& term = terms.at(spread.term);
      std::uint32_t domain = terms.domain(spread.term, node);
      if (domain == Topology::kNone) return no_label_;
      std::int32_t least = term.domains < spread.min_domains ? 0 : term.least;
      std::int32_t here = std::max(term.count[domain], 0) + (spread.self ? 1 : 0);
      if (here - least > spread.max_skew) return no_spread_;
    }
    return kFeasible;
  }

  static bool collides(const PodClass& pods, const Node& node) {
    for (const HostPort& wanted : pods.ports)
      for (const HostPort& used : node.ports)
        if (wanted.collides(used)) return true;
    return false;
  }

  // Asked for every pair of class and tainted node, so the words are made once per taint.
  ReasonId untolerated(const Taint& taint) {
    for (const auto& [known, reason] : untolerated_)
      if (known.key == taint.key && known.value == taint.value) return reason;
    const Names& names = session_->cluster().names();
    ReasonId reason =
        session_->reasons().intern("node(s) had untolerated taint {" + names.text(taint.key) +
                                   ": " + names.text(taint.value) + "}");
    untolerated_.emplace_back(taint, reason);
    return reason;
  }

  Session* session_ = nullptr;
  bool affinity_, ports_, taints_, neighbours_, spread_;
  VolumeChecks volumes_;
  bool devices_;
  ReasonId pod_number_ = 0, unschedulable_ = 0, no_match_ = 0, no_ports_ = 0;
  ReasonId no_affinity_ = 0, no_anti_ = 0, no_existing_ = 0, no_spread_ = 0, no_label_ = 0;
  Taint cordon_;
  std::vector<std::pair<Taint, ReasonId>> untolerated_;
};

}  // namespace

extern const PluginInfo plugin_predicates;
const PluginInfo plugin_predicates{
    "predicates", "the Kubernetes filters",
    "predicate.NodeAffinityEnable (true), predicate.NodePortsEnable (true), "
    "predicate.TaintTolerationEnable (true), predicate.PodAffinityEnable (true), "
    "predicate.PodTopologySpreadEnable (true), predicate.VolumeBindingEnable (true), "
    "predicate.VolumeZoneEnable (true), predicate.NodeVolumeLimitsEnable (true), "
    "predicate.DynamicResourceAllocationEnable (true)",
    [](const PluginOption& option) -> std::unique_ptr<Plugin> {
      return std::make_unique<Predicates>(option.arguments);
    }};

}  // namespace hekla::scheduler
