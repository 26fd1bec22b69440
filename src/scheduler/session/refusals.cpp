// The session's rules of starting, and the filters asked one plugin at a time, for explanations.
#include <algorithm>
#include <map>

#include "scheduler/session/session.h"
#include "scheduler/session/start_rules.h"

namespace hekla::scheduler {

bool Session::may_enqueue(JobId job) { return start_rules_->may_enqueue(job); }
bool Session::may_place(JobId job) { return start_rules_->may_place(job); }
void Session::begin_turn(JobId job) { start_rules_->begin_turn(job); }
void Session::end_turn(JobId job) { start_rules_->end_turn(job); }

std::vector<Session::Refusal> Session::refusals(ClassId pods) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < cluster_.nodes().size(); ++i)
    if (cluster_.nodes()[i].live) nodes.push_back(NodeId(i));
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const PluginSlot& slot : plugins_) {
    if (std::find(rules_.filters.begin(), rules_.filters.end(), slot.plugin.get()) ==
        rules_.filters.end())
      continue;
    std::vector<ReasonId> reasons(nodes.size(), kFeasible);
    slot.plugin->filter(cluster_.at(pods), nodes, reasons);
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
  for (Plugin* plugin : rules_.filters) plugin->filter(cluster_.at(pods), nodes, reasons);
  std::vector<bool> out(cluster_.nodes().size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) out[nodes[i].index()] = reasons[i] == kFeasible;
  return out;
}

}  // namespace hekla::scheduler
