// Plain pods preempt as under kube-scheduler, whatever the actions are: a pod that no node can take
// has the pods of lower priority leave the node where that matters least, and the node is written
// down as nominated.
//
// Differs from kube-scheduler: a gang is not broken for a plain pod (only what it has beyond its
// minimum may go), and whether preemption was tried is said only if there is anybody of lower
// priority: tutorials show the short message.
#include <algorithm>
#include <optional>

#include "scheduler/session/least_victims.h"
#include "scheduler/session/victims.h"

namespace hekla::scheduler {

namespace {

// As kube-scheduler: a tenth of the nodes, but this many at least, are enough to choose from.
constexpr std::size_t kFewestCandidates = 100;

bool may_go(const Session& session, TaskId id, TaskId preemptor) {
  const Task &task = session.at(id), &wants = session.at(preemptor);
  if (task.priority >= wants.priority) return false;
  if (task.status != TaskStatus::running && task.status != TaskStatus::bound) return false;
  if (!task.job.valid()) return true;
  const Job& job = session.at(task.job);
  return job.implicit || job.ready() > job.min_available;
}

std::vector<TaskId> least_victims(Session& session, TaskId task, NodeId node) {
  std::vector<TaskId> offered;
  for (TaskId id : session.cluster().at(node).tasks)
    if (may_go(session, id, task)) offered.push_back(id);
  if (offered.empty() || !would_fit(session, task, node, offered)) return {};
  std::sort(offered.begin(), offered.end(), [&](TaskId a, TaskId b) {
    const Task &x = session.at(a), &y = session.at(b);
    if (x.priority != y.priority) return x.priority < y.priority;
    return x.started != y.started ? x.started > y.started : a > b;
  });
  auto at = offered.begin();
  auto next = [&] {
    // Gangs have been counted with all their pods: some may no longer be spared.
    while (at != offered.end() && !may_go(session, *at, task)) ++at;
    return at == offered.end() ? TaskId() : *at++;
  };
  QueueId queue = session.at(session.at(task).job).queue;
  return smallest_set(session, next, [&] {
    return fits_future(session, task, node) && session.allocatable(queue, task) &&
           session.passes_filters(task, node);
  });
}

std::string preemption_words(std::size_t nodes, std::size_t not_helpful) {
  std::string out = " preemption: 0/" + std::to_string(nodes) + " nodes are available: ";
  std::size_t no_victims = nodes - not_helpful;
  std::vector<std::string> lines;
  if (no_victims > 0)
    lines.push_back(std::to_string(no_victims) + " No preemption victims found for incoming pod");
  if (not_helpful > 0)
    lines.push_back(std::to_string(not_helpful) + " Preemption is not helpful for scheduling");
  std::sort(lines.begin(), lines.end());
  for (std::size_t i = 0; i < lines.size(); ++i) out.append(i == 0 ? "" : ", ").append(lines[i]);
  return out + ".";
}

}  // namespace

void Session::preempt_for_plain_pods() {
  std::optional<std::int32_t> lowest;  // priority of a placed pod
  for (JobId id : jobs_) {
    const Job& job = at(id);
    if (!job.implicit || rests(id) || job.tasks.empty()) continue;
    TaskId task = job.tasks.front();
    if (at(task).status != TaskStatus::pending || fit_text(task) == nullptr) continue;
    if (!lowest) {
      lowest = std::numeric_limits<std::int32_t>::max();
      for (const Task& one : cluster_.tasks())
        if (one.live && one.node.valid()) lowest = std::min(*lowest, one.priority);
    }
    if (*lowest < at(task).priority && is_eligible_to_preempt(*this, at(task))) preempt_for(task);
  }
}

void Session::preempt_for(TaskId task) {
  std::vector<NodeId> nodes = evictable_nodes(task, false);
  std::vector<NodeVictims> candidates;
  const std::size_t enough = std::max(kFewestCandidates, nodes.size() / 10);
  for (NodeId node : nodes) {
    if (candidates.size() == enough) break;
    if (std::vector<TaskId> victims = least_victims(*this, task, node); !victims.empty())
      candidates.push_back({node, std::move(victims)});
  }
  auto best = std::min_element(candidates.begin(), candidates.end(),
                               [&](const NodeVictims& a, const NodeVictims& b) {
                                 return cost_of(*this, a) < cost_of(*this, b);
                               });
  if (best == candidates.end()) {
    std::size_t all = cluster_.live_nodes();
    set_fit_error(task, *fit_text(task) + preemption_words(all, all - nodes.size()));
    return;
  }
  std::vector<TaskStatus> before;
  for (TaskId victim : best->victims) {
    before.push_back(at(victim).status);
    release(victim);
  }
  if (!place(task, TaskStatus::pipelined, best->node)) {
    // Nobody goes for a pod that cannot come.
    for (std::size_t i = before.size(); i-- > 0;) unrelease(best->victims[i], before[i]);
    return;
  }
  for (TaskId victim : best->victims) evict(victim, "preempt", task);
  keep(task);
  nominate(task);
}

}  // namespace hekla::scheduler
