// predicates: the Kubernetes filters, in their order: room for one more pod, unschedulable nodes,
// node selector and affinity, host ports, taints. Resources are not checked here; the actions do
// that first. A reason that no eviction could remove ends the check of that node, the others add
// up.
//
// Arguments (all true): predicate.NodeAffinityEnable, predicate.NodePortsEnable,
// predicate.TaintTolerationEnable. Those of filters that are not built (pod affinity, topology
// spread, volumes, dynamic resources) are accepted and ignored.
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

class Predicates final : public Plugin {
 public:
  explicit Predicates(const Arguments& arguments)
      : affinity_(arguments.boolean("predicate.NodeAffinityEnable", true)),
        ports_(arguments.boolean("predicate.NodePortsEnable", true)),
        taints_(arguments.boolean("predicate.TaintTolerationEnable", true)) {}

  Hooks hooks() const override { return hooks_of({Hook::predicate}); }

  void open(Session& session) override {
    session_ = &session;
    Reasons& reasons = session.reasons();
    pod_number_ = reasons.intern("node(s) pod number exceeded", true);
    unschedulable_ = reasons.intern("node(s) were unschedulable");
    no_match_ = reasons.intern("node(s) didn't match Pod's node affinity/selector");
    no_ports_ = reasons.intern("node(s) didn't have free ports for the requested pod ports", true);
    cordon_ = {session.cluster().names().find("node.kubernetes.io/unschedulable"),
               session.cluster().names().find(""), Effect::no_schedule};
  }

  void filter(const PodClass& pods, std::span<const NodeId> nodes,
              std::span<ReasonId> reasons) override {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (reasons[i] == kFeasible) reasons[i] = check(pods, session_->cluster().at(nodes[i]));
  }

 private:
  ReasonId check(const PodClass& pods, const Node& node) {
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
    return reason;
  }

  static bool collides(const PodClass& pods, const Node& node) {
    for (const HostPort& wanted : pods.ports)
      for (const HostPort& used : node.ports)
        if (wanted.collides(used)) return true;
    return false;
  }

  ReasonId untolerated(const Taint& taint) {
    const Names& names = session_->cluster().names();
    return session_->reasons().intern("node(s) had untolerated taint {" + names.text(taint.key) +
                                      ": " + names.text(taint.value) + "}");
  }

  Session* session_ = nullptr;
  bool affinity_, ports_, taints_;
  ReasonId pod_number_ = 0, unschedulable_ = 0, no_match_ = 0, no_ports_ = 0;
  Taint cordon_;
};

}  // namespace

extern const PluginInfo plugin_predicates;
const PluginInfo plugin_predicates{
    "predicates", "the Kubernetes filters",
    "predicate.NodeAffinityEnable (true), predicate.NodePortsEnable (true), "
    "predicate.TaintTolerationEnable (true)",
    [](const PluginOption& option) -> std::unique_ptr<Plugin> {
      return std::make_unique<Predicates>(option.arguments);
    }};

}  // namespace hekla::scheduler
