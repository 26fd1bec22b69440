// Which node a task gets. Mostly the table of the task's class knows; tasks that a plugin has
// something particular to say about (neighbours, volumes, devices) are filtered and scored one by
// one, on top of what their class allows.
#include <algorithm>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

// Whether the request would fit if everybody left the node who is not promised a place on it.
bool fits_empty(const Resources& request, const Node& node) {
  for (std::uint32_t mask = request.present; mask != 0; mask &= mask - 1) {
    auto d = static_cast<Dim>(std::countr_zero(mask));
    if (request[d] > node.idle[d] + node.used[d] - node.pipelined[d] - node.reserved[d])
      return false;
  }
  return true;
}

}  // namespace

bool Session::concerns(Hook hook, TaskId task) const {
  for (const std::vector<Plugin*>& tier : asked(hook))
    for (const Plugin* plugin : tier)
      if (plugin->concerns(task)) return true;
  return false;
}

ReasonId Session::pre_filter(TaskId task) {
  for (const std::vector<Plugin*>& tier : asked(Hook::task_predicate))
    for (Plugin* plugin : tier)
      if (plugin->concerns(task))
        if (ReasonId reason = plugin->pre_filter(task); reason != kFeasible) return reason;
  return kFeasible;
}

void Session::filter_concerned(TaskId task, std::span<const NodeId> nodes,
                               std::span<ReasonId> reasons) {
  for (const std::vector<Plugin*>& tier : asked(Hook::task_predicate))
    for (Plugin* plugin : tier)
      if (plugin->concerns(task)) plugin->filter_task(task, nodes, reasons);
}

void Session::score_concerned(TaskId task, std::span<const NodeId> nodes,
                              std::span<double> scores) {
  for (const std::vector<Plugin*>& tier : asked(Hook::batch_node_order))
    for (Plugin* plugin : tier)
      if (plugin->concerns(task)) plugin->score_task(task, nodes, scores);
}

std::optional<ClassTable::Pick> Session::choose_node(TaskId id, NodeId preferred) {
  ClassTable& known = table(at(id).pod_class);
  if (preferred.valid() && (!cluster_.at(preferred).live || known.fit(preferred) == Fit::none))
    preferred = {};
  if (domain_.valid() || concerns(Hook::task_predicate, id) ||
      concerns(Hook::batch_node_order, id) || concerns(Hook::best_node, id))
    return choose_concerned(id, known, preferred);
  if (preferred.valid()) return ClassTable::Pick{preferred, known.fit(preferred), 0};
  return known.best();
}

std::optional<ClassTable::Pick> Session::choose_concerned(TaskId id, ClassTable& known,
                                                          NodeId preferred) {
  if (pre_filter(id) != kFeasible) return std::nullopt;
  std::vector<NodeId> nodes;
  for (NodeId node : nodes_at_hand(known))
    if (known.fit(node) != Fit::none) nodes.push_back(node);
  std::vector<ReasonId> reasons(nodes.size(), kFeasible);
  filter_concerned(id, nodes, reasons);
  Fit wanted = Fit::none;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (reasons[i] != kFeasible) continue;
    if (nodes[i] == preferred) return ClassTable::Pick{preferred, known.fit(preferred), 0};
    wanted = std::max(wanted, known.fit(nodes[i]));
  }
  if (wanted == Fit::none) return std::nullopt;
  std::vector<NodeId> candidates;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (reasons[i] == kFeasible && known.fit(nodes[i]) == wanted) candidates.push_back(nodes[i]);
  if (candidates.size() == 1) return ClassTable::Pick{candidates.front(), wanted, 0};
  std::vector<double> scores;
  for (NodeId node : candidates) scores.push_back(known.local_score(node));
  known.add_relative_scores(candidates, scores);
  score_concerned(id, candidates, scores);
  NodeId named = evaluate<FirstNamed<NodeId>>(asked(Hook::best_node), [&](Plugin& p) {
    return p.concerns(id) ? p.best_node(id, candidates, scores) : NodeId();
  });
  auto best = static_cast<std::size_t>(
      named.valid() ? std::find(candidates.begin(), candidates.end(), named) - candidates.begin()
                    : std::max_element(scores.begin(), scores.end()) - scores.begin());
  return ClassTable::Pick{candidates[best], wanted, scores[best]};
}

std::string Session::explain_no_node(TaskId id) {
  ClassTable& known = table(at(id).pod_class);
  bool kube_scheduler_words = at(at(id).job).implicit;
  if (!domain_.valid() && !concerns(Hook::task_predicate, id))
    return known.explain(reasons_, kube_scheduler_words);
  std::span<const NodeId> nodes = nodes_at_hand(known);
  ReasonId at_once = pre_filter(id);
  // kube-scheduler counts no nodes when it has not looked at any.
  if (at_once != kFeasible && kube_scheduler_words)
    return "0/" + std::to_string(nodes.size()) +
           " nodes are available: " + reasons_.texts(at_once).front() + ".";
  std::vector<ReasonId> reasons(nodes.size(), at_once);
  if (!reasons.empty() && reasons.front() == kFeasible) {
    for (std::size_t i = 0; i < nodes.size(); ++i) reasons[i] = known.reason(nodes[i]);
    filter_concerned(id, nodes, reasons);
  }
  std::vector<std::uint32_t> counts(reasons_.size(), 0u);
  for (ReasonId reason : reasons) ++counts[reason];
  std::string where;
  if (domain_.valid() && domain_ != cluster_.hyper_nodes().top())
    where = "In hyperNode " + cluster_.hyper_nodes().at(domain_).name + ": ";
  return where + explain_reasons(reasons_, counts, nodes.size(), kube_scheduler_words);
}

std::span<const NodeId> Session::nodes_at_hand(const ClassTable& known) const {
  return domain_.valid() ? std::span<const NodeId>(cluster_.hyper_nodes().at(domain_).nodes)
                         : known.nodes();
}

void Session::filter_class(const PodClass& pods, std::span<const NodeId> nodes,
                           std::span<ReasonId> reasons) {
  for (Plugin* plugin : rules_.filters) filter_by(*plugin, pods, nodes, reasons);
}

void Session::filter_by(Plugin& plugin, const PodClass& pods, std::span<const NodeId> nodes,
                        std::span<ReasonId> reasons) {
  plugin.filter(pods, nodes, reasons);
  if (pods.terms.empty()) return;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    reasons[i] = reasons_.join(reasons[i], plugin.filter_group(pods, nodes[i]));
}

bool Session::passes_filters(TaskId id, NodeId node) {
  auto check = [&] {
    ReasonId reason = kFeasible;
    std::span<const NodeId> nodes(&node, 1);
    std::span<ReasonId> reasons(&reason, 1);
    filter_class(cluster_.class_of(at(id)), nodes, reasons);
    if (reason == kFeasible) filter_concerned(id, nodes, reasons);
    return reason;
  };
  ReasonId now = check();
  if (now == kFeasible || !reasons_.removable(now)) return now == kFeasible;
  return once_they_left(node, [&] { return check() == kFeasible; });
}

bool Session::will_take(TaskId id, NodeId node) {
  const Node& there = cluster_.at(node);
  const PodClass& pods = cluster_.class_of(at(id));
  if (!there.live || (domain_.valid() &&
                      !std::ranges::binary_search(nodes_at_hand(table(at(id).pod_class)), node)))
    return false;
  return (pods.best_effort || less_equal(pods.request, there.future_idle(), Missing::zero)) &&
         pre_filter(id) == kFeasible && passes_filters(id, node);
}

bool Session::once_they_left(NodeId node, const std::function<bool()>& check) {
  std::vector<TaskId> leaving;
  for (TaskId task : cluster_.at(node).tasks)
    if (at(task).status == TaskStatus::releasing) leaving.push_back(task);
  for (TaskId task : leaving) cluster_.move(task, TaskStatus::releasing, {});
  bool holds = check();
  for (TaskId task : leaving) cluster_.move(task, TaskStatus::releasing, node);
  return holds;
}

std::vector<NodeId> Session::evictable_among(TaskId id, std::vector<NodeId> nodes) {
  const PodClass& pods = cluster_.class_of(at(id));
  if (nodes.empty() || !pods.unknown.empty() || pre_filter(id) != kFeasible) return {};
  std::vector<ReasonId> reasons(nodes.size(), kFeasible);
  filter_class(pods, nodes, reasons);
  filter_concerned(id, nodes, reasons);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (reasons_.removable(reasons[i])) nodes[kept++] = nodes[i];
  nodes.resize(kept);
  return nodes;
}

std::vector<NodeId> Session::roomy_nodes(TaskId id) {
  ClassTable& known = table(at(id).pod_class);
  std::vector<NodeId> nodes;
  for (NodeId node : known.nodes())
    if (reasons_.removable(known.reason(node))) nodes.push_back(node);
  return evictable_among(id, std::move(nodes));
}

void Session::try_evictable_nodes(TaskId id, const std::function<bool(NodeId)>& taken) {
  const Resources& request = cluster_.class_of(at(id)).request;
  std::span<const NodeId> live = cluster_.live();
  // Mostly one of the first nodes is taken. The lots grow, so that whoever is asked about many
  // nodes at once (an extender) is asked seldom.
  std::size_t next = 0;
  for (std::size_t lot = 8; next < live.size(); lot *= 2) {
    std::vector<NodeId> nodes;
    for (; next < live.size() && nodes.size() < lot; ++next)
      if (fits_empty(request, cluster_.at(live[next]))) nodes.push_back(live[next]);
    for (NodeId node : evictable_among(id, std::move(nodes)))
      if (taken(node)) return;
  }
}

std::vector<NodeId> Session::evictable_nodes(TaskId id, bool scored) {
  const PodClass& pods = cluster_.class_of(at(id));
  std::vector<NodeId> out;
  for (NodeId node : cluster_.live())
    if (fits_empty(pods.request, cluster_.at(node))) out.push_back(node);
  out = evictable_among(id, std::move(out));
  if (!scored || out.size() < 2) return out;
  std::vector<double> scores(out.size(), 0.0);
  for (Plugin* plugin : rules_.scores) plugin->score(pods, out, scores);
  table(at(id).pod_class).add_relative_scores(out, scores);
  score_concerned(id, out, scores);
  std::vector<std::size_t> order(out.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<NodeId> sorted;
  for (std::size_t i : order) sorted.push_back(out[i]);
  return sorted;
}

}  // namespace hekla::scheduler
