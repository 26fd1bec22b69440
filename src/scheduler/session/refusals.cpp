// The session's rules of starting, and the filters asked one plugin at a time, for explanations.
#include <algorithm>
#include <map>

#include "scheduler/session/session.h"
#include "scheduler/session/start_rules.h"

namespace hekla::scheduler {

bool Session::may_enqueue(JobId job) { return start_rules_->may_enqueue(job); }
bool Session::may_place(JobId job) { return start_rules_->may_place(job); }
bool Session::keeps_room(JobId job) const { return start_rules_->keeps_room(job); }
bool Session::keeps_room(QueueId queue) const { return start_rules_->keeps_room(queue); }
void Session::begin_turn(JobId job) { start_rules_->begin_turn(job); }
void Session::end_turn(JobId job) { start_rules_->end_turn(job); }

std::vector<Session::Refusal> Session::refusals(TaskId task) {
  std::span<const NodeId> nodes = cluster_.live();
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  std::vector<ReasonId> reasons;
  for (const PluginSlot& slot : plugins_) {
    Plugin& plugin = *slot.plugin;
    reasons.assign(nodes.size(), kFeasible);
    if (std::find(rules_.filters.begin(), rules_.filters.end(), &plugin) != rules_.filters.end())
      filter_by(plugin, cluster_.class_of(at(task)), nodes, reasons);
    bool asked_about_tasks =
        std::ranges::any_of(asked(Hook::task_predicate), [&](const std::vector<Plugin*>& tier) {
          return std::find(tier.begin(), tier.end(), &plugin) != tier.end();
        });
    if (asked_about_tasks && plugin.concerns(task)) {
      if (ReasonId at_once = plugin.pre_filter(task); at_once != kFeasible)
        reasons.assign(nodes.size(), at_once);
      else
        plugin.filter_task(task, nodes, reasons);
    }
    for (ReasonId reason : reasons)
      for (const std::string& text : reasons_.texts(reason)) ++counts[{slot.name, text}];
  }
  std::vector<Refusal> out;
  for (const auto& [key, count] : counts) out.push_back({key.first, key.second, count});
  return out;
}

std::vector<bool> Session::admitting_nodes(ClassId pods) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < cluster_.nodes().size(); ++i)
    if (cluster_.nodes()[i].live) nodes.push_back(NodeId(i));
  std::vector<ReasonId> reasons(nodes.size(), kFeasible);
  filter_class(cluster_.at(pods), nodes, reasons);
  std::vector<bool> out(cluster_.nodes().size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) out[nodes[i].index()] = reasons[i] == kFeasible;
  return out;
}

// The tasks of one class go on where the last of them was put.
std::optional<Session::Packing> Session::pack(std::span<const TaskId> tasks,
                                              std::vector<Resources> free) {
  Packing out;
  std::map<std::uint32_t, std::pair<std::vector<bool>, std::size_t>> by_class;
  for (TaskId id : tasks) {
    ClassId pods = at(id).pod_class;
    auto found = by_class.find(pods.value);
    if (found == by_class.end())
      found = by_class.emplace(pods.value, std::pair(admitting_nodes(pods), 0)).first;
    auto& [admits, next] = found->second;
    const Resources& request = cluster_.at(pods).request;
    while (next < free.size() && (!admits[next] || first_lacking(request, free[next]))) ++next;
    if (next == free.size()) return std::nullopt;
    free[next] -= request;
    out.emplace_back(NodeId(next), request);
  }
  return out;
}

}  // namespace hekla::scheduler
