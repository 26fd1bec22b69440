#include "scheduler/session/start_rules.h"

#include <algorithm>

#include "base/log.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

// A group that was let in and has had no pods for this long belongs to nobody (its job was
// aborted): nobody waits for it.
constexpr Nanos kAbandonedAfter = std::chrono::seconds(30);
// A gang that holds a part of its minimum gives it back after this long, if somebody else waits.
constexpr Nanos kHalfPlacedPatience = std::chrono::seconds(10);
constexpr std::size_t kRunsKept = 8;
constexpr std::size_t kKindsKept = 4096;

}  // namespace

// ---- history ----

void RunHistory::add(const std::string& kind, Nanos duration) {
  if (durations_.size() >= kKindsKept && !durations_.contains(kind)) return;
  std::deque<Nanos>& runs = durations_[kind];
  runs.push_back(duration);
  if (runs.size() > kRunsKept) runs.pop_front();
}

Nanos RunHistory::expect(const std::string& kind) const {
  auto found = durations_.find(kind);
  return found == durations_.end() ? Nanos(0)
                                   : *std::max_element(found->second.begin(), found->second.end());
}

std::string RunHistory::kind_of(const Job& job, const Queue& queue) {
  constexpr std::size_t kUidLength = 36;
  std::string name = job.name;
  // A vcjob's group is <job>-<uid>.
  if (name.size() > kUidLength + 1 && name[name.size() - kUidLength - 1] == '-')
    name.resize(name.size() - kUidLength - 1);
  while (!name.empty() && (name.back() == '-' || (name.back() >= '0' && name.back() <= '9')))
    name.pop_back();
  return job.ns + "/" + queue.name + "/" + name;
}

Nanos StartRules::estimate(JobId id) const {
  const Job& job = cluster_.at(id);
  if (job.estimate.count() > 0) return job.estimate;
  return history_.expect(RunHistory::kind_of(job, cluster_.at(job.queue)));
}

// ---- the frame ----

void StartRules::open(Session& session) {
  session_ = &session;
  claims_.clear();
  held_.clear();
  hierarchy_ = session.configuration().has_hierarchy("capacity");
  queues_.assign(cluster_.queues().size(), {});
  for (JobId id : session.jobs()) follow_job(id);
  for (std::size_t i = 0; i < queues_.size(); ++i)
    std::sort(queues_[i].waiting.begin(), queues_[i].waiting.end(),
              [&](JobId a, JobId b) { return goes_first(a, b); });
  for (JobId id : session.jobs())
    if (!cluster_.at(id).lost.empty()) hold_lost_rooms(id);
  reserve_for_longest_waiting();
}

void StartRules::follow_job(JobId id) {
  Job& job = cluster_.edit(id);
  if (job.implicit) return;
  if (job.phase == Phase::inqueue && job.inqueue_since == WallTime{})
    job.inqueue_since = session_->now();
  bool complete = job.is_ready() && job.allocated_tasks() > 0;
  if (complete && job.started == WallTime{}) job.started = session_->now();
  if (job.started != WallTime{} && job.allocated_tasks() == 0) {
    if (job.of(TaskStatus::succeeded) > 0 && job.of(TaskStatus::pending) == 0)
      history_.add(RunHistory::kind_of(job, cluster_.at(job.queue)), session_->now() - job.started);
    job.started = {};
  }
  if (complete || job.started == WallTime{})
    job.short_since = {};
  else if (job.short_since == WallTime{})
    job.short_since = session_->now();
  QueueState& queue = queues_[job.queue.index()];
  if (job.allocated_tasks() > 0) {
    ++queue.started;
    ++queue.let_in;
  } else if (job.phase == Phase::inqueue && session_->now() - job.inqueue_since < kAbandonedAfter) {
    ++queue.let_in;
  }
  bool waits = job.phase != Phase::completed && !job.is_ready();
  if (cluster_.at(job.queue).fifo && waits && !is_abandoned(job)) queue.waiting.push_back(id);
}

void StartRules::close() {
  for (const Claim& one : claims_)
    if (!one.lifted) cluster_.reserve(one.node, one.amount, -1);
  claims_.clear();
  release_half_placed();
}

// ---- order and number ----

bool StartRules::goes_first(JobId a, JobId b) const {
  const Job &x = cluster_.at(a), &y = cluster_.at(b);
  if (x.priority != y.priority) return x.priority > y.priority;
  if (x.created != y.created) return x.created < y.created;
  return x.uid != y.uid ? x.uid < y.uid : x.name < y.name;
}

bool StartRules::is_abandoned(const Job& job) const {
  return job.phase == Phase::inqueue && job.tasks.empty() &&
         session_->now() - job.inqueue_since >= kAbandonedAfter;
}

JobId StartRules::head(QueueId queue, bool pending_only) const {
  for (JobId id : queues_[queue.index()].waiting) {
    const Job& job = cluster_.at(id);
    if (pending_only ? job.is_pending() : !job.is_ready()) return id;
  }
  return {};
}

bool StartRules::may_enqueue(JobId id) {
  QueueId queue = cluster_.at(id).queue;
  return may_go_on(id, head(queue, true), queues_[queue.index()].let_in);
}

void StartRules::enqueued(JobId id) { ++queues_[cluster_.at(id).queue.index()].let_in; }

bool StartRules::may_place(JobId id) {
  const Job& job = cluster_.at(id);
  if (job.implicit || job.allocated_tasks() > 0) return true;
  return may_go_on(id, head(job.queue, false), queues_[job.queue.index()].started);
}

// `first` is the head of a fifo queue, `others` how many jobs count towards its limit.
bool StartRules::may_go_on(JobId id, JobId first, std::int32_t others) {
  const Queue& queue = cluster_.at(cluster_.at(id).queue);
  if (first.valid() && first != id) {
    session_->set_job_error(id, JobObstacle::fifo_head,
                            "queue " + queue.name + " is fifo and " + cluster_.at(first).ns + "/" +
                                cluster_.at(first).name + " is ahead");
    return false;
  }
  if (queue.max_running > 0 && others >= queue.max_running) {
    session_->set_job_error(id, JobObstacle::queue_job_limit,
                            "queue " + queue.name + " runs at most " +
                                std::to_string(queue.max_running) + " jobs at a time");
    return false;
  }
  return true;
}

// ---- half-placed gangs ----

// The gang was complete since the oldest of its present pods came: what it lacks, it has lost.
bool StartRules::was_complete(const Job& job) const {
  std::optional<WallTime> oldest;
  for (TaskId id : job.tasks)
    if (const Task& task = cluster_.at(id); is_allocated(task.status))
      oldest = std::min(oldest.value_or(task.created), task.created);
  return std::any_of(job.conditions.begin(), job.conditions.end(), [&](const GroupCondition& c) {
    return c.type == "Scheduled" && oldest && c.at >= *oldest;
  });
}

// A crash between two bindings, or one that is refused for good, leaves a gang with a part of its
// minimum. If the rest finds no room and somebody else waits, the part is given back: two such
// gangs would block each other for ever. One gang at a time, the last in order first.
void StartRules::release_half_placed() {
  const WallTime now = session_->now();
  JobId last;
  std::size_t waiting = 0;
  for (JobId id : session_->jobs()) {
    Job& job = cluster_.edit(id);
    bool incomplete = !job.is_ready() && (job.allocatable_tasks > 0 || job.allocated_tasks() > 0);
    if (incomplete) ++waiting;
    bool half = incomplete && !job.implicit && job.allocated_tasks() > 0 &&
                job.of(TaskStatus::binding) == 0 && !was_complete(job);
    if (!half) {
      job.half_since = {};
      continue;
    }
    if (job.half_since == WallTime{}) job.half_since = now;
    if (now - job.half_since < kHalfPlacedPatience) continue;
    if (!last.valid() || goes_first(last, id)) last = id;
  }
  if (!last.valid() || waiting < 2) return;
  Job& job = cluster_.edit(last);
  job.half_since = {};
  log_warn("scheduler", "a gang gives back the part of its room it has, others wait for it",
           {{"group", job.ns + "/" + job.name},
            {"placed", std::to_string(job.allocated_tasks())},
            {"minimum", std::to_string(job.min_available)}});
  std::vector<TaskId> members = job.tasks;
  for (TaskId id : members)
    if (is_allocated(cluster_.at(id).status) && cluster_.at(id).ours) {
      session_->release(id);
      session_->evict(id, "gang");
    }
  // The others get their chance before the next one gives up.
  for (JobId id : session_->jobs())
    if (cluster_.at(id).half_since != WallTime{}) cluster_.edit(id).half_since = now;
}

}  // namespace hekla::scheduler
