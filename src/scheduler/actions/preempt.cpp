// preempt: a starving job takes the place of less important pods of its own queue; then tasks take
// the place of less important tasks of their own job. What the plugins offer is evicted node by
// node, the best-scored node first, the least important pod first, until the waiting pod will fit;
// the pod then waits for the room (pipelined). A job's evictions are made only if it gets its
// minimum.
//
// With enableTopologyAwarePreemption the nodes are compared first: on each the smallest set of
// victims is looked for, and the node whose victims matter least is taken. Arguments:
// enableTopologyAwarePreemption (false), minCandidateNodesPercentage (10),
// minCandidateNodesAbsolute (1), maxCandidateNodesAbsolute (100).
//
// Differs from Volcano: evictions on a node that does not work out after all are taken back, and
// the filters must let the pod onto the node once the victims are gone.
#include <algorithm>
#include <set>

#include "scheduler/session/action.h"
#include "scheduler/session/least_victims.h"
#include "scheduler/session/statement.h"
#include "scheduler/session/victims.h"

namespace hekla::scheduler {

namespace {

constexpr std::string_view kReason = "preempt";

class Preempt {
 public:
  Preempt(Session& session, const Arguments& arguments)
      : session_(session),
        statement_(session),
        compare_nodes_(arguments.boolean("enableTopologyAwarePreemption", false)),
        percentage_(arguments.integer("minCandidateNodesPercentage", 10)),
        at_least_(arguments.integer("minCandidateNodesAbsolute", 1)),
        at_most_(arguments.integer("maxCandidateNodesAbsolute", 100)) {}

  void run() {
    Turns turns(session_);
    for (JobId job : session_.jobs())
      // A domain cannot be cleared pod by pod: gangpreempt does that for jobs that want one.
      if (is_starving(session_, job) && !session_.at(job).has_topology() && session_.may_place(job))
        turns.add(job);
    std::vector<JobId> jobs;
    while (!turns.empty()) {
      QueueId queue = turns.next_queue();
      std::size_t first = jobs.size();
      while (turns.has_jobs(queue)) jobs.push_back(turns.next_job(queue));
      for (std::size_t i = first; i < jobs.size(); ++i) between_jobs(jobs[i]);
    }
    // Whoever is left may use what has become free, of whatever queue, and also what others leave
    // over here.
    for (bool evicted = true; evicted;) {
      evicted = false;
      for (JobId job : jobs) evicted |= within_job(job);
    }
  }

 private:
  enum class Scope { other_jobs, own_job };

  void between_jobs(JobId job) {
    cleared_.clear();
    for (TaskId task : waiting_tasks(session_, job)) {
      if (!session_.job_starving(job)) break;
      make_room(task, Scope::other_jobs);
    }
    if (session_.job_pipelined(job))
      statement_.commit();
    else
      statement_.discard();
  }

  // Whether somebody had to go.
  bool within_job(JobId job) {
    bool evicted = false;
    for (TaskId task : waiting_tasks(session_, job)) {
      if (!make_room(task, Scope::own_job)) break;
      evicted |= statement_.size() > 1;  // beyond the pod that waits now
      statement_.commit();
    }
    statement_.discard();
    return evicted;
  }

  bool may_go(TaskId id, TaskId preemptor, Scope scope) const {
    const Task &task = session_.at(id), &wants = session_.at(preemptor);
    if (task.status != TaskStatus::running && task.status != TaskStatus::bound) return false;
    if (!task.preemptable || (wants.best_effort && !task.best_effort)) return false;
    if (scope == Scope::own_job) return task.job == wants.job;
    return task.job != wants.job && session_.is_in_queue(task.job) &&
           session_.at(task.job).queue == session_.at(wants.job).queue;
  }

  bool make_room(TaskId task, Scope scope) {
    if (!is_eligible_to_preempt(session_, session_.at(task))) return false;
    return compare_nodes_ ? make_room_where_it_matters_least(task, scope)
                          : make_room_where_it_scores_best(task, scope);
  }

  bool is_enough(TaskId task, NodeId node) {
    return fits_future(session_, task, node) &&
           session_.allocatable(session_.at(session_.at(task).job).queue, task) &&
           session_.passes_filters(task, node);
  }

  std::vector<TaskId> victims_on(NodeId node, TaskId task, Scope scope) {
    std::vector<TaskId> candidates =
        tasks_on(session_, node, task, [&](TaskId id) { return may_go(id, task, scope); });
    return session_.preemptable(task, candidates);
  }

  bool make_room_where_it_scores_best(TaskId task, Scope scope) {
    for (NodeId node : session_.evictable_nodes(task, true)) {
      std::vector<TaskId> victims = victims_on(node, task, scope);
      if (!would_fit(session_, task, node, victims)) continue;
      std::size_t before = statement_.size();
      session_.note_preemption_attempt();
      VictimHeap heap(session_, victims, task);
      while (!heap.empty() && !is_enough(task, node)) statement_.evict(heap.pop(), kReason);
      if (statement_.size() > before) cleared_.insert(node);
      if (is_enough(task, node) && wait_there(task, node)) return true;
      statement_.discard(before);
    }
    return false;
  }

  // Room that was made for a pod of the gang is kept for every pod of the gang that waits there.
  bool wait_there(TaskId task, NodeId node) {
    return statement_.pipeline(task, node, cleared_.contains(node));
  }

  // ---- topology-aware ----

  bool make_room_where_it_matters_least(TaskId task, Scope scope) {
    std::vector<NodeId> nodes = session_.evictable_nodes(task, false);
    // Where the gang's pods before this one have made room enough nobody else need go.
    for (NodeId node : nodes)
      if (is_enough(task, node) && wait_there(task, node)) return true;
    auto wanted = static_cast<std::int64_t>(nodes.size()) * percentage_ / 100;
    wanted = std::min(std::max(wanted, at_least_), at_most_);
    std::vector<NodeVictims> candidates;
    for (NodeId node : nodes) {
      if (static_cast<std::int64_t>(candidates.size()) >= wanted) break;
      std::vector<TaskId> victims = least_victims(node, task, scope);
      if (!victims.empty()) candidates.push_back({node, std::move(victims)});
    }
    if (candidates.empty()) return false;
    auto best = std::min_element(candidates.begin(), candidates.end(),
                                 [&](const NodeVictims& a, const NodeVictims& b) {
                                   return cost_of(session_, a) < cost_of(session_, b);
                                 });
    std::size_t before = statement_.size();
    session_.note_preemption_attempt();
    for (TaskId victim : best->victims) statement_.evict(victim, kReason);
    cleared_.insert(best->node);
    if (wait_there(task, best->node)) return true;
    statement_.discard(before);
    return false;
  }

  std::vector<TaskId> least_victims(NodeId node, TaskId task, Scope scope) {
    std::vector<TaskId> offered = victims_on(node, task, scope);
    if (!would_fit(session_, task, node, offered)) return {};
    VictimHeap heap(session_, offered, task);
    return smallest_set(
        session_, [&] { return heap.empty() ? TaskId() : heap.pop(); },
        [&] { return is_enough(task, node); });
  }

  Session& session_;
  Statement statement_;
  std::set<NodeId> cleared_;  // for the job whose turn it is
  bool compare_nodes_;
  std::int64_t percentage_, at_least_, at_most_;
};

void execute_preempt(Session& session, const Arguments& arguments) {
  Preempt(session, arguments).run();
}

}  // namespace

extern const ActionInfo action_preempt;
const ActionInfo action_preempt{
    "preempt", "evicts less important pods of the same queue for a starving job", execute_preempt,
    "enableTopologyAwarePreemption topologyAwarePreemptWorkerNum minCandidateNodesPercentage "
    "minCandidateNodesAbsolute maxCandidateNodesAbsolute"};

}  // namespace hekla::scheduler
