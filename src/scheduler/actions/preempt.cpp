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
#include <limits>
#include <tuple>

#include "scheduler/session/action.h"
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
      if (is_starving(session_, job) && !session_.at(job).has_topology() &&
          session_.may_place(job))
        turns.add(job);
    while (!turns.empty()) {
      QueueId queue = turns.next_queue();
      std::vector<JobId> jobs;
      while (turns.has_jobs(queue)) jobs.push_back(turns.next_job(queue));
      for (JobId job : jobs) between_jobs(job);
      for (JobId job : jobs) within_job(job);
    }
  }

 private:
  enum class Scope { other_jobs, own_job };

  void between_jobs(JobId job) {
    for (TaskId task : waiting_tasks(session_, job)) {
      if (!session_.job_starving(job)) break;
      make_room(task, Scope::other_jobs);
    }
    if (session_.job_pipelined(job))
      statement_.commit();
    else
      statement_.discard();
  }

  void within_job(JobId job) {
    for (TaskId task : waiting_tasks(session_, job)) {
      if (!make_room(task, Scope::own_job)) break;
      statement_.commit();
    }
    statement_.discard();
  }

  bool may_go(TaskId id, TaskId preemptor, Scope scope) const {
    const Task &task = session_.at(id), &wants = session_.at(preemptor);
    if (task.status != TaskStatus::running && task.status != TaskStatus::bound) return false;
    if (!task.preemptable || (wants.best_effort && !task.best_effort)) return false;
    if (scope == Scope::own_job) return task.job == wants.job;
    return task.job != wants.job && session_.takes_part(task.job) &&
           session_.at(task.job).queue == session_.at(wants.job).queue;
  }

  // Room is being made already while pods leave the node this one was promised.
  bool is_eligible(const Task& task) const {
    if (!task.preempts) return false;
    if (!task.nominated.valid() || !session_.cluster().at(task.nominated).live) return true;
    const std::vector<TaskId>& there = session_.cluster().at(task.nominated).tasks;
    return std::none_of(there.begin(), there.end(), [&](TaskId id) {
      const Task& other = session_.at(id);
      return other.status == TaskStatus::releasing && other.priority < task.priority;
    });
  }

  bool make_room(TaskId task, Scope scope) {
    if (!is_eligible(session_.at(task))) return false;
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
      VictimHeap heap(session_, victims, task);
      while (!heap.empty() && !is_enough(task, node)) statement_.evict(heap.pop(), kReason);
      if (is_enough(task, node) && statement_.pipeline(task, node, statement_.size() > before))
        return true;
      statement_.discard(before);
    }
    return false;
  }

  // ---- topology-aware ----

  struct Candidate {
    NodeId node;
    std::vector<TaskId> victims;  // the most important first
  };

  bool make_room_where_it_matters_least(TaskId task, Scope scope) {
    std::vector<NodeId> nodes = session_.evictable_nodes(task, false);
    auto wanted = static_cast<std::int64_t>(nodes.size()) * percentage_ / 100;
    wanted = std::min(std::max(wanted, at_least_), at_most_);
    std::vector<Candidate> candidates;
    for (NodeId node : nodes) {
      if (static_cast<std::int64_t>(candidates.size()) >= wanted) break;
      std::vector<TaskId> victims = smallest_set(node, task, scope);
      if (!victims.empty()) candidates.push_back({node, std::move(victims)});
    }
    if (candidates.empty()) return false;
    const Candidate* best = &candidates.front();
    for (const Candidate& one : candidates)
      if (cost(one) < cost(*best)) best = &one;
    std::size_t before = statement_.size();
    for (TaskId victim : best->victims) statement_.evict(victim, kReason);
    if (statement_.pipeline(task, best->node, true)) return true;
    statement_.discard(before);
    return false;
  }

  // Takes victims until the task fits, then lets stay whom it can, the most important first. All of
  // it is undone.
  std::vector<TaskId> smallest_set(NodeId node, TaskId task, Scope scope) {
    std::vector<TaskId> offered = victims_on(node, task, scope), taken, needed;
    if (!would_fit(session_, task, node, offered)) return {};
    VictimHeap heap(session_, offered, task);
    std::vector<TaskStatus> status;
    while (!heap.empty() && (taken.empty() || !is_enough(task, node))) {
      taken.push_back(heap.pop());
      status.push_back(session_.at(taken.back()).status);
      session_.release(taken.back());
    }
    bool enough = is_enough(task, node);
    for (std::size_t i = taken.size(); i-- > 0;) {
      session_.unrelease(taken[i], status[i]);
      if (!enough || is_enough(task, node)) continue;
      session_.release(taken[i]);
      needed.push_back(taken[i]);
    }
    for (TaskId id : needed) {
      auto at = std::find(taken.begin(), taken.end(), id) - taken.begin();
      session_.unrelease(id, status[static_cast<std::size_t>(at)]);
    }
    return needed;
  }

  // Smaller is better: the highest priority among the victims, the sum of priorities, how many, and
  // how long ago the oldest of the most important ones started.
  std::tuple<std::int32_t, std::int64_t, std::size_t, std::int64_t> cost(
      const Candidate& candidate) const {
    std::int32_t highest = std::numeric_limits<std::int32_t>::min();
    std::int64_t sum = 0;
    for (TaskId id : candidate.victims) {
      highest = std::max(highest, session_.at(id).priority);
      sum += std::int64_t{session_.at(id).priority} + (std::int64_t{1} << 31);
    }
    WallTime earliest = WallTime::max();
    for (TaskId id : candidate.victims)
      if (session_.at(id).priority == highest)
        earliest = std::min(earliest, session_.at(id).started);
    return {highest, sum, candidate.victims.size(), -earliest.time_since_epoch().count()};
  }

  Session& session_;
  Statement statement_;
  bool compare_nodes_;
  std::int64_t percentage_, at_least_, at_most_;
};

void execute_preempt(Session& session, const Arguments& arguments) {
  Preempt(session, arguments).run();
}

}  // namespace

extern const ActionInfo action_preempt;
const ActionInfo action_preempt{
    "preempt", "evicts less important pods of the same queue for a starving job", execute_preempt};

}  // namespace hekla::scheduler
