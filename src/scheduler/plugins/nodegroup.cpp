// nodegroup: queues keep to their groups of nodes. A node belongs to the group named by its label
// volcano.sh/nodegroup-name; a queue names the groups it wants or avoids in spec.affinity, and may
// limit what it uses of one in the annotation volcano.sh/nodegroup-resource-limits (JSON: group to
// resource list). Arguments: strict (true; false lets queues without affinity onto nodes without a
// group), enablePreferredOrder (false: preferred groups are equal; true: the first is the best).
// With enableHierarchy a queue without affinity has that of its nearest ancestor.
#include <algorithm>
#include <map>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr int kDeepestQueue = 16;

class NodeGroup final : public Plugin {
 public:
  explicit NodeGroup(const PluginOption& option)
      : strict_(option.arguments.boolean("strict", true)),
        ordered_(option.arguments.boolean("enablePreferredOrder", false)),
        hierarchy_(option.hierarchy) {}
  Hooks hooks() const override {
    return hooks_of({Hook::task_predicate, Hook::batch_node_order});
  }

  void open(Session& session) override {
    session_ = &session;
    key_ = session.cluster().names().find("volcano.sh/nodegroup-name");
    Reasons& reasons = session.reasons();
    no_label_ = reasons.intern("node group label not found");
    no_affinity_ = reasons.intern("node group affinity not specified");
    no_match_ = reasons.intern("node does not satisfy the node group affinity");
    over_limit_ = reasons.intern("node group resource limit exceeded", true);
  }

  bool concerns(TaskId) const override { return true; }
  void filter_task(TaskId id, std::span<const NodeId> nodes,
                   std::span<ReasonId> reasons) override {
    const Task& task = session_->at(id);
    const Queue& queue = session_->at(session_->at(task.job).queue);
    const NodeGroupAffinity& affinity = affinity_of(queue);
    count_used(session_->at(task.job).queue);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (reasons[i] == kFeasible) reasons[i] = check(task, queue, affinity, nodes[i]);
  }
  void score_task(TaskId id, std::span<const NodeId> nodes, std::span<double> scores) override {
    const NodeGroupAffinity& affinity =
        affinity_of(session_->at(session_->at(session_->at(id).job).queue));
    for (std::size_t i = 0; i < nodes.size(); ++i) scores[i] += score(affinity, group_of(nodes[i]));
  }

 private:
  static bool has(const std::vector<std::string>& list, const std::string& group) {
    return std::find(list.begin(), list.end(), group) != list.end();
  }
  const std::string& group_of(NodeId node) const {
    static const std::string kNone;
    NameId value = key_.valid() ? session_->cluster().at(node).shape.label(key_) : NameId();
    return value.valid() ? session_->cluster().names().text(value) : kNone;
  }
  const NodeGroupAffinity& affinity_of(const Queue& queue) const {
    const Queue* at = &queue;
    for (int depth = 0; hierarchy_ && at->node_groups.empty() && depth < kDeepestQueue; ++depth) {
      QueueId parent = session_->cluster().find_queue(at->parent.empty() ? "root" : at->parent);
      if (!parent.valid() || &session_->at(parent) == at) break;
      at = &session_->at(parent);
    }
    return at->node_groups;
  }

  ReasonId check(const Task& task, const Queue& queue, const NodeGroupAffinity& affinity,
                 NodeId node) const {
    const std::string& group = group_of(node);
    if (group.empty()) return !strict_ && affinity.empty() ? kFeasible : no_label_;
    if (affinity.empty()) return no_affinity_;
    bool wanted = has(affinity.required, group) || has(affinity.preferred, group);
    if (has(affinity.anti_required, group)) wanted = false;
    if (has(affinity.anti_preferred, group)) wanted = true;
    if (!wanted) return no_match_;
    for (const auto& [limited, limit] : queue.node_group_limits) {
      if (limited != group) continue;
      const Resources& request = session_->cluster().class_of(task).request;
      Resources after = request;
      if (auto found = used_.find(group); found != used_.end())
        after += found->second;
      for (std::uint32_t mask = limit.present & request.present & ~(1u << kPods); mask != 0;
           mask &= mask - 1) {
        auto d = static_cast<Dim>(std::countr_zero(mask));
        if (limit[d] > 0 && request[d] > 0 && after[d] > limit[d]) return over_limit_;
      }
    }
    return kFeasible;
  }

  double score(const NodeGroupAffinity& affinity, const std::string& group) const {
    if (group.empty()) return 0;
    if (has(affinity.required, group)) return 100;
    auto at = std::find(affinity.preferred.begin(), affinity.preferred.end(), group);
    if (at != affinity.preferred.end()) {
      if (!ordered_) return 50;
      auto left = static_cast<double>(affinity.preferred.end() - at);
      return 50 * left / static_cast<double>(affinity.preferred.size());
    }
    return has(affinity.anti_preferred, group) ? -1 : 0;
  }

  // What the queue uses of each group; only queues with limits need it.
  void count_used(QueueId id) {
    used_.clear();
    if (session_->at(id).node_group_limits.empty()) return;
    for (JobId job : session_->jobs()) {
      if (session_->at(job).queue != id) continue;
      for (TaskId task : session_->at(job).tasks) {
        const Task& one = session_->at(task);
        bool holds = is_allocated(one.status) || one.status == TaskStatus::pipelined;
        if (holds && one.node.valid())
          used_[group_of(one.node)] += session_->cluster().class_of(one).request;
      }
    }
  }

  const Session* session_ = nullptr;
  bool strict_, ordered_, hierarchy_;
  NameId key_;
  ReasonId no_label_ = 0, no_affinity_ = 0, no_match_ = 0, over_limit_ = 0;
  std::map<std::string, Resources> used_;
};

}  // namespace

extern const PluginInfo plugin_nodegroup;
const PluginInfo plugin_nodegroup{"nodegroup", "queues keep to their groups of nodes",
                                  "strict (true), enablePreferredOrder (false)",
                                  [](const PluginOption& option) -> std::unique_ptr<Plugin> {
                                    return std::make_unique<NodeGroup>(option);
                                  }};

}  // namespace hekla::scheduler
