// Room kept free within a session. Two kinds of claims: a dead member's room, for its successor,
// for a bounded time; and room for a group that has waited longer than it should. The latter is
// planned for the moment at which, by what is known of running jobs, the whole gang fits: until
// then the room is open to whoever will have ended by that moment, and to whoever leaves enough of
// it.
#include <algorithm>

#include "base/log.h"
#include "scheduler/session/session.h"
#include "scheduler/session/start_rules.h"

namespace hekla::scheduler {

namespace {

// A job that has outlived its estimate is expected to end this soon.
constexpr Nanos kOverdue = std::chrono::minutes(1);
constexpr int kDeepest = 16;  // queue; ends a cycle of parents
// Plans for larger gangs than this would take too long to make in a session.
constexpr std::size_t kLargestPlan = 4096;

bool is_nothing(const Resources& amount) {
  return std::all_of(amount.value.begin(), amount.value.end(),
                     [](std::int64_t value) { return value == 0; });
}

}  // namespace

void StartRules::claim(Claim one) {
  if (is_nothing(one.amount)) return;
  cluster_.reserve(one.node, one.amount, +1);
  claims_.push_back(std::move(one));
}

void StartRules::begin_turn(JobId id) {
  if (claims_.empty()) return;
  const Nanos runs = estimate(id);
  for (Claim& one : claims_) {
    if (one.lifted) continue;
    bool ends_in_time =
        !one.hold && one.needed && runs.count() > 0 && session_->now() + runs <= *one.needed;
    if (one.owner != id && !ends_in_time) continue;
    one.lifted = true;
    cluster_.reserve(one.node, one.amount, -1);
  }
}

bool StartRules::keeps_room(JobId id) const {
  return std::any_of(claims_.begin(), claims_.end(),
                     [&](const Claim& one) { return !one.hold && one.owner == id; });
}

bool StartRules::keeps_room(QueueId queue) const {
  return std::any_of(claims_.begin(), claims_.end(), [&](const Claim& one) {
    return !one.hold && cluster_.at(one.owner).queue == queue;
  });
}

void StartRules::end_turn(JobId id) {
  const Job& job = cluster_.at(id);
  bool placed = job.is_ready();
  if (placed && job.allocated_tasks() > 0 && !job.implicit) {
    bool first_turn = job.started == WallTime{};
    if (first_turn) {
      cluster_.edit(id).started = session_->now();
      ++queues_[job.queue.index()].started;
    }
  }
  if (claims_.empty()) return;
  for (Claim& one : claims_) {
    if (!one.lifted || (placed && one.owner == id)) continue;
    one.lifted = false;
    cluster_.reserve(one.node, one.amount, +1);
  }
  if (placed) std::erase_if(claims_, [&](const Claim& one) { return one.owner == id; });
}

void StartRules::hold_lost_rooms(JobId id) {
  Job& job = cluster_.edit(id);
  const WallTime now = session_->now();
  for (LostRoom& room : job.lost)
    if (room.until == WallTime{}) room.until = now + job.hold;
  // As many as it lacks: a gang that is complete without the dead has no successor to wait for.
  std::int32_t lacking = job.allocated_tasks() > 0 ? job.min_available - job.ready() : 0;
  std::erase_if(job.lost, [&](const LostRoom& room) { return room.until <= now; });
  while (!job.lost.empty() && static_cast<std::int32_t>(job.lost.size()) > std::max(lacking, 0))
    job.lost.erase(job.lost.begin());
  for (const LostRoom& room : job.lost)
    if (cluster_.at(room.node).live) claim({id, room.node, room.amount, true, {}, false});
}

// ---- reservations ----

Nanos StartRules::patience(const Job& job) const {
  return job.reserve_after.count() >= 0 ? job.reserve_after : cluster_.at(job.queue).reserve_after;
}

// What the queues hold, a parent with what its children do.
const Resources& StartRules::held(QueueId queue) {
  if (held_.empty()) {
    held_.resize(cluster_.queues().size());
    for (JobId id : session_->jobs()) {
      const Job& job = cluster_.at(id);
      if (job.implicit || job.allocated_tasks() + job.of(TaskStatus::pipelined) == 0) continue;
      each_limit(job.queue, [&](QueueId level) { held_[level.index()] += job.claimed; });
    }
  }
  return held_[queue.index()];
}

// The queue itself and, where limits hold on every level, its ancestors.
template <class Visit>
void StartRules::each_limit(QueueId queue, Visit visit) const {
  for (int depth = 0; queue.valid() && depth < kDeepest; ++depth) {
    visit(queue);
    const std::string& parent = cluster_.at(queue).parent;
    if (!hierarchy_ || parent.empty()) return;
    queue = cluster_.find_queue(parent);
  }
}

bool StartRules::within_capability(const Job& job, const Resources& more) {
  bool within = true;
  each_limit(job.queue, [&](QueueId id) {
    const Queue& queue = cluster_.at(id);
    if (!queue.has_capability || !within) return;
    // For cpu and memory a limit of zero is none; other resources are limited if they are named.
    std::uint32_t limited = 0;
    each_dim(queue.capability.present & ~(1u << kPods), [&](Dim d) {
      if (queue.capability[d] > 0 || (d != kCpu && d != kMemory)) limited |= 1u << d;
    });
    Resources after = held(id);
    after += more;
    within = (exceeded(after, queue.capability, more) & limited) == 0;
  });
  return within;
}

bool StartRules::starves(JobId id) const {
  const Job& job = cluster_.at(id);
  Nanos after = patience(job);
  return after.count() > 0 && !job.implicit && cluster_.at(job.queue).open && !job.is_pending() &&
         !job.is_ready() && job.allocatable_tasks > 0 && session_->now() - job.created >= after &&
         session_->job_valid(id);
}

void StartRules::reserve_for_longest_waiting() {
  std::vector<JobId> starving;
  for (JobId id : session_->jobs())
    if (starves(id)) starving.push_back(id);
  std::sort(starving.begin(), starving.end(), [&](JobId a, JobId b) { return goes_first(a, b); });
  reserving_ = false;
  for (JobId id : starving)
    if ((reserving_ = make_reservation(id))) return;
}

const Resources& StartRules::idle() {
  if (idle_at_ == cluster_.change_sequence()) return idle_;
  idle_at_ = cluster_.change_sequence();
  idle_ = Resources();
  for (const Node& node : cluster_.nodes())
    if (node.live) idle_ += node.idle;
  return idle_;
}

bool StartRules::must_enqueue(JobId id) {
  const Job& job = cluster_.at(id);
  const Queue& queue = cluster_.at(job.queue);
  if (job.implicit || !queue.open || !job.has_min_resources) return false;
  const WallTime now = session_->now();
  for (const Claim& one : claims_) {
    if (one.hold || !one.needed) continue;
    Nanos runs = estimate(id);
    return runs.count() > 0 && now + runs <= *one.needed &&
           exceeded(job.min_resources, idle(), job.min_resources) == 0;
  }
  Nanos after = patience(job);
  bool overdue = after.count() > 0 && now - job.created >= after;
  if (!overdue || reserving_ || !within_capability(job, job.min_resources) ||
      exceeded(job.min_resources, cluster_.total(), job.min_resources) != 0)
    return false;
  reserving_ = true;
  return true;
}

std::vector<TaskId> StartRules::missing_tasks(JobId id) const {
  const Job& job = cluster_.at(id);
  std::vector<TaskId> tasks;
  for (TaskId task : job.tasks) {
    const Task& one = cluster_.at(task);
    if (one.status == TaskStatus::pending && !one.best_effort && !one.gated && one.ours)
      tasks.push_back(task);
  }
  std::sort(tasks.begin(), tasks.end(),
            [&](TaskId a, TaskId b) { return session_->task_before(a, b); });
  auto wanted = static_cast<std::size_t>(std::max(job.min_available - job.ready(), 0));
  if (tasks.size() > wanted) tasks.resize(wanted);
  return tasks;
}

std::vector<StartRules::End> StartRules::expected_ends() const {
  const WallTime now = session_->now();
  std::vector<End> ends;
  std::vector<Nanos> runs(cluster_.jobs().size(), Nanos(0));
  for (JobId id : session_->jobs())
    if (cluster_.at(id).allocated_tasks() > 0) runs[id.index()] = estimate(id);
  for (const Task& task : cluster_.tasks()) {
    if (!task.live || !task.node.valid() || !task.job.valid()) continue;
    const Resources& amount = cluster_.class_of(task).request;
    if (task.status == TaskStatus::releasing) {
      ends.push_back({now, task.node, amount});
    } else if (is_allocated(task.status)) {
      const Job& job = cluster_.at(task.job);
      Nanos whole = runs[task.job.index()];
      if (whole.count() == 0 || job.started == WallTime{}) continue;
      ends.push_back({std::max(job.started + whole, now + kOverdue), task.node, amount});
    }
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.at < b.at; });
  return ends;
}

// At once, as soon as the jobs that run have ended, or nobody knows when.
std::optional<StartRules::Plan> StartRules::plan(const std::vector<TaskId>& tasks) const {
  std::vector<Resources> idle;
  for (const Node& node : cluster_.nodes()) idle.push_back(node.idle);
  std::vector<Resources> nothing(idle.size());
  if (std::optional<Session::Packing> now = session_->pack(tasks, idle))
    return Plan{*now, session_->now(), std::move(nothing)};
  std::vector<End> ends = expected_ends();
  auto free_after = [&](std::size_t count) {
    std::vector<Resources> free = idle;
    for (std::size_t i = 0; i < count; ++i) free[ends[i].node.index()] += ends[i].amount;
    return free;
  };
  std::size_t low = 1,
              high = ends.size() + 1;  // the first prefix that suffices lies in [low, high]
  while (low < high) {
    std::size_t middle = (low + high) / 2;
    if (session_->pack(tasks, free_after(middle)))
      high = middle;
    else
      low = middle + 1;
  }
  if (low <= ends.size()) {
    std::vector<Resources> released = std::move(nothing);
    for (std::size_t i = 0; i < low; ++i) released[ends[i].node.index()] += ends[i].amount;
    return Plan{*session_->pack(tasks, free_after(low)), ends[low - 1].at, std::move(released)};
  }
  // Nodes it would fit on when they are empty are no longer filled up.
  std::vector<Resources> empty;
  for (const Node& node : cluster_.nodes()) empty.push_back(node.shape.allocatable);
  std::optional<Session::Packing> packing = session_->pack(tasks, empty);
  if (!packing) return std::nullopt;  // it never fits: room kept for it would be wasted
  return Plan{std::move(*packing), {}, std::move(nothing)};
}

bool StartRules::make_reservation(JobId id) {
  std::vector<TaskId> tasks = missing_tasks(id);
  if (tasks.empty() || tasks.size() > kLargestPlan) return false;
  Resources need;
  for (TaskId task : tasks) need += cluster_.class_of(cluster_.at(task)).request;
  if (!within_capability(cluster_.at(id), need)) return false;
  std::optional<Plan> made = plan(tasks);
  if (!made) return false;
  std::map<std::uint32_t, Resources> by_node;
  for (const auto& [node, amount] : made->packing) by_node[node.value] += amount;
  for (const auto& [node, amount] : by_node)
    claim({id, NodeId(node), excess(amount, made->released[node]), false, made->needed, false});
  return true;
}

}  // namespace hekla::scheduler
