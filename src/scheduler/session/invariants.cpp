#include "scheduler/session/invariants.h"

#include <map>
#include <set>

namespace hekla::scheduler::invariants {

namespace {

// No node that got a pod in this session has more on it than it can hold of anything that pod asked
// for. (Of the rest it may have lost some since its other pods came.)
std::string no_overcommit(const Cluster& cluster, const Decisions& decisions) {
  for (const BindDecision& bind : decisions.binds) {
    const Node& node = cluster.at(bind.node);
    const Resources& request = cluster.class_of(cluster.at(bind.task)).request;
    for (std::size_t d = 0; d < cluster.dimensions().size(); ++d)
      if (request.value[d] > 0 && node.used.value[d] > node.shape.allocatable.value[d])
        return "node " + node.name + " has more " + cluster.dimensions().name(static_cast<Dim>(d)) +
               " used than it can allocate";
  }
  return {};
}

// A job that got a pod bound has at least its minimum placed.
std::string gang_all_or_none(const Cluster& cluster, const Decisions& decisions) {
  for (const BindDecision& bind : decisions.binds) {
    const Job& job = cluster.at(cluster.at(bind.task).job);
    if (!job.is_ready()) return "job " + job.name + " got pods bound without being ready";
  }
  return {};
}

// Whoever was evicted made room on that node for a pod that now waits for it. Shuffled pods leave
// for no one in particular, and a gang that gives up what it has for whoever comes next.
std::string no_victim_in_vain(const Cluster& cluster, const Decisions& decisions) {
  std::set<NodeId> awaited;
  for (const BindDecision& wait : decisions.pipelined) awaited.insert(wait.node);
  for (const EvictDecision& evict : decisions.evictions) {
    if (evict.reason == "shuffle" || evict.reason == "gang") continue;
    const Task& victim = cluster.at(evict.task);
    if (!awaited.contains(victim.node))
      return "task " + victim.name + " was evicted and nobody waits";
  }
  return {};
}

// A queue that got a pod bound holds no more than its capability of anything that pod asked for.
// Plain pods are in no queue.
std::string within_capability(const Cluster& cluster, const Decisions& decisions) {
  std::map<QueueId, Resources> by_queue;
  for (const BindDecision& bind : decisions.binds) {
    QueueId id = cluster.at(cluster.at(bind.task).job).queue;
    const Queue& queue = cluster.at(id);
    if (!queue.has_capability || cluster.at(bind.task).best_effort) continue;
    if (cluster.at(cluster.at(bind.task).job).implicit) continue;
    auto [known, fresh] = by_queue.try_emplace(id);
    Resources& held = known->second;
    for (const Job& job : cluster.jobs())
      if (fresh && job.live && !job.implicit && job.queue == id) held += job.allocated;
    const Resources& request = cluster.class_of(cluster.at(bind.task)).request;
    for (std::size_t d = 0; d < cluster.dimensions().size(); ++d) {
      auto dim = static_cast<Dim>(d);
      if (dim == kPods || request[dim] == 0 || queue.capability[dim] <= 0) continue;
      if (held[dim] > queue.capability[dim])
        return "queue " + queue.name + " holds more " + cluster.dimensions().name(dim) +
               " than its capability";
    }
  }
  return {};
}

// Nothing that was not committed survives its session.
std::string nothing_left_over(const Cluster& cluster, const Decisions&) {
  for (const Task& task : cluster.tasks())
    if (task.live && (task.status == TaskStatus::allocated || task.status == TaskStatus::pipelined))
      return "task " + task.name + " is still " + std::string(name_of(task.status));
  return {};
}

// No task is bound twice in one session, and each bound one is on the node the decision names.
std::string bound_once(const Cluster& cluster, const Decisions& decisions) {
  std::set<TaskId> seen;
  for (const BindDecision& bind : decisions.binds) {
    const Task& task = cluster.at(bind.task);
    if (!seen.insert(bind.task).second) return "task " + task.name + " is bound twice";
    if (task.node != bind.node) return "task " + task.name + " is not on the node it was bound to";
  }
  return {};
}

}  // namespace

std::string accounts_add_up(const Cluster& cluster, const Decisions&) {
  std::vector<Resources> used(cluster.nodes().size()), releasing(used.size());
  std::vector<std::int32_t> pods(used.size());
  std::vector<StatusCounts> counts(cluster.jobs().size());
  std::vector<Resources> allocated(counts.size());
  for (const Task& task : cluster.tasks()) {
    if (!task.live) continue;
    const Resources& request = cluster.class_of(task).request;
    if (task.job.valid()) {
      ++counts[task.job.index()][static_cast<std::size_t>(task.status)];
      if (is_allocated(task.status)) allocated[task.job.index()] += request;
    }
    if (!task.node.valid() || is_completed(task.status) || task.status == TaskStatus::pending)
      continue;
    used[task.node.index()] += request;
    ++pods[task.node.index()];
    if (task.status == TaskStatus::releasing) releasing[task.node.index()] += request;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    const Node& node = cluster.nodes()[i];
    Resources idle = node.shape.allocatable;
    idle -= used[i];
    if (node.used.value != used[i].value || node.releasing.value != releasing[i].value ||
        node.idle.value != idle.value || node.pods != pods[i] ||
        node.pipelined.value != Resources().value)
      return "the account of node " + node.name + " does not add up";
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Job& job = cluster.jobs()[i];
    if (job.live && (job.count != counts[i] || job.allocated.value != allocated[i].value))
      return "the counts of job " + job.name + " do not add up";
  }
  return {};
}

std::string check(std::string_view name, const Cluster& cluster, const Decisions& decisions) {
  if (name == "no-overcommit") return no_overcommit(cluster, decisions);
  if (name == "gang-all-or-none") return gang_all_or_none(cluster, decisions);
  if (name == "no-victim-in-vain") return no_victim_in_vain(cluster, decisions);
  if (name == "within-capability") return within_capability(cluster, decisions);
  if (name == "nothing-left-over") return nothing_left_over(cluster, decisions);
  if (name == "bound-once") return bound_once(cluster, decisions);
  if (name == "accounts-add-up") return accounts_add_up(cluster, decisions);
  return "there is no invariant called " + std::string(name);
}

std::vector<std::string_view> expected_of(const Configuration& configuration, bool cheap) {
  std::vector<std::string_view> out{"bound-once", "no-overcommit", "no-victim-in-vain"};
  if (configuration.has_plugin("gang")) out.push_back("gang-all-or-none");
  if (configuration.has_plugin("proportion") || configuration.has_plugin("capacity"))
    out.push_back("within-capability");
  if (!cheap) out.insert(out.end(), {"accounts-add-up", "nothing-left-over"});
  return out;
}

}  // namespace hekla::scheduler::invariants
