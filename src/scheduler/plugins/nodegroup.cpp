// nodegroup: queues keep to their groups of nodes. A node belongs to the group named by its label
// volcano.sh/nodegroup-name; a queue names the groups it wants or avoids in spec.affinity, and may
// limit what it uses of one in the annotation volcano.sh/nodegroup-resource-limits (JSON: group to
// resource list). Arguments: strict (true; false lets queues without affinity onto nodes without a
// group), enablePreferredOrder (false: preferred groups are equal; true: the first is the best).
// With enableHierarchy a queue without affinity has that of its nearest ancestor.
#include <algorithm>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr int kMostAncestors = 16;

class NodeGroup final : public Plugin {
 public:
  explicit NodeGroup(const PluginOption& option)
      : strict_(option.arguments.boolean("strict", true)),
        ordered_(option.arguments.boolean("enablePreferredOrder", false)),
        hierarchy_(option.hierarchy) {}
  Hooks hooks() const override {
    return hooks_of({Hook::task_predicate, Hook::batch_node_order, Hook::events});
  }

  void open(Session& session) override {
    session_ = &session;
    key_ = session.cluster().names().find("volcano.sh/nodegroup-name");
    Reasons& reasons = session.reasons();
    no_label_ = reasons.intern("node group label not found");
    no_affinity_ = reasons.intern("node group affinity not specified");
    no_match_ = reasons.intern("node does not satisfy the node group affinity");
    over_limit_ = reasons.intern("node group resource limit exceeded", true);
    read_queues();
    count_used();
  }

  bool concerns(TaskId) const override { return true; }
  void filter_task(TaskId id, std::span<const NodeId> nodes, std::span<ReasonId> reasons) override {
    const Task& task = session_->at(id);
    const Terms& terms = terms_of(task);
    const Resources& request = session_->cluster().class_of(task).request;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (reasons[i] == kFeasible) reasons[i] = check(terms, request, group_of(nodes[i]));
  }
  void score_task(TaskId id, std::span<const NodeId> nodes, std::span<double> scores) override {
    const Terms& terms = terms_of(session_->at(id));
    for (std::size_t i = 0; i < nodes.size(); ++i) scores[i] += score(terms, group_of(nodes[i]));
  }

  void on_allocate(TaskId id) override {
    node_of_[id.index()] = session_->at(id).node;
    charge(id, session_->at(id).node, +1);
  }
  void on_release(TaskId id) override {
    NodeId node = session_->at(id).node;
    charge(id, node.valid() ? node : node_of_[id.index()], -1);
  }

 private:
  // What a queue says of groups, which are named by interned label values.
  struct Terms {
    std::vector<NameId> required, preferred, anti_required, anti_preferred;
    bool empty = true;
    struct Limit {
      NameId group;
      Resources most, used;
    };
    std::vector<Limit> limits;
  };

  void read_queues() {
    terms_.clear();
    terms_.resize(session_->cluster().queues().size());
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const Queue& queue = session_->at(QueueId(i));
      const NodeGroupAffinity& affinity = affinity_of(queue);
      Terms& terms = terms_[i];
      terms = {
          named(affinity.required),       named(affinity.preferred), named(affinity.anti_required),
          named(affinity.anti_preferred), affinity.empty(),          {}};
      for (const auto& [group, most] : queue.node_group_limits)
        terms.limits.push_back({session_->cluster().names().find(group), most, {}});
    }
  }
  // A group that no node is in has no id, and matches nothing.
  std::vector<NameId> named(const std::vector<std::string>& groups) const {
    std::vector<NameId> out;
    for (const std::string& group : groups) out.push_back(session_->cluster().names().find(group));
    return out;
  }
  const NodeGroupAffinity& affinity_of(const Queue& queue) const {
    const Queue* at = &queue;
    for (int depth = 0; hierarchy_ && at->node_groups.empty() && depth < kMostAncestors; ++depth) {
      QueueId parent = session_->cluster().find_queue(at->parent.empty() ? "root" : at->parent);
      if (!parent.valid() || &session_->at(parent) == at) break;
      at = &session_->at(parent);
    }
    return at->node_groups;
  }
  const Terms& terms_of(const Task& task) const {
    return terms_[session_->at(task.job).queue.index()];
  }

  // What queues with limits use of each limited group.
  void count_used() {
    node_of_.assign(session_->cluster().tasks().size(), NodeId());
    for (JobId job : session_->jobs()) {
      if (terms_[session_->at(job).queue.index()].limits.empty()) continue;
      for (TaskId task : session_->at(job).tasks) {
        const Task& one = session_->at(task);
        if (is_allocated(one.status)) charge(task, one.node, +1);
      }
    }
  }
  void charge(TaskId id, NodeId node, int sign) {
    const Task& task = session_->at(id);
    if (!node.valid() || !task.job.valid()) return;
    for (Terms::Limit& limit : terms_[session_->at(task.job).queue.index()].limits) {
      if (limit.group != group_of(node)) continue;
      if (sign > 0)
        limit.used += session_->cluster().class_of(task).request;
      else
        limit.used -= session_->cluster().class_of(task).request;
    }
  }

  static bool has(const std::vector<NameId>& list, NameId group) {
    return std::find(list.begin(), list.end(), group) != list.end();
  }
  // Invalid for a node in no group.
  NameId group_of(NodeId node) const {
    NameId value = key_.valid() ? session_->cluster().at(node).shape.label(key_) : NameId();
    return value.valid() && !session_->cluster().names().text(value).empty() ? value : NameId();
  }

  ReasonId check(const Terms& terms, const Resources& request, NameId group) const {
    if (!group.valid()) return !strict_ && terms.empty ? kFeasible : no_label_;
    if (terms.empty) return no_affinity_;
    bool wanted = has(terms.required, group) || has(terms.preferred, group);
    if (has(terms.anti_required, group)) wanted = false;
    if (has(terms.anti_preferred, group)) wanted = true;
    if (!wanted) return no_match_;
    for (const Terms::Limit& limit : terms.limits) {
      if (limit.group != group) continue;
      for (std::uint32_t mask = limit.most.present & request.present & ~(1u << kPods); mask != 0;
           mask &= mask - 1) {
        auto d = static_cast<Dim>(std::countr_zero(mask));
        if (limit.most[d] > 0 && request[d] > 0 && limit.used[d] + request[d] > limit.most[d])
          return over_limit_;
      }
    }
    return kFeasible;
  }

  double score(const Terms& terms, NameId group) const {
    if (!group.valid()) return 0;
    if (has(terms.required, group)) return 100;
    auto at = std::find(terms.preferred.begin(), terms.preferred.end(), group);
    if (at != terms.preferred.end()) {
      if (!ordered_) return 50;
      auto left = static_cast<double>(terms.preferred.end() - at);
      return 50 * left / static_cast<double>(terms.preferred.size());
    }
    return has(terms.anti_preferred, group) ? -1 : 0;
  }

  const Session* session_ = nullptr;
  bool strict_, ordered_, hierarchy_;
  NameId key_;
  ReasonId no_label_ = 0, no_affinity_ = 0, no_match_ = 0, over_limit_ = 0;
  std::vector<Terms> terms_;     // by queue
  std::vector<NodeId> node_of_;  // by task, of those placed in this session
};

}  // namespace

extern const PluginInfo plugin_nodegroup;
const PluginInfo plugin_nodegroup{"nodegroup", "queues keep to their groups of nodes",
                                  "strict (true), enablePreferredOrder (false)",
                                  [](const PluginOption& option) -> std::unique_ptr<Plugin> {
                                    return std::make_unique<NodeGroup>(option);
                                  }};

}  // namespace hekla::scheduler
