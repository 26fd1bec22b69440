// The end of a session: phases, conditions, events and pod conditions, to the letter of Volcano's
// messages, and only where something has changed since they were last written.
#include <algorithm>
#include <array>
#include <map>

#include "scheduler/session/session.h"
#include "scheduler/session/start_rules.h"

namespace hekla::scheduler {

namespace {

// FNV-1a: enough to see that a message is the one already written.
std::uint64_t digest(std::string_view a, std::string_view b = {}) {
  std::uint64_t hash = 14695981039346656037ull;
  auto mix = [&](std::string_view text) {
    for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    hash = (hash ^ 0xffu) * 1099511628211ull;
  };
  mix(a);
  mix(b);
  return hash;
}

// "<n> <what>" lines sorted as strings, the way Volcano's histograms are.
std::string histogram(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out.append(out.empty() ? "" : ", ").append(line);
  return out;
}

// The opposite condition has been set since: this one is a transition even in the same words.
bool is_outdated(const Job& job, const GroupCondition& condition) {
  return std::any_of(job.conditions.begin(), job.conditions.end(),
                     [&](const GroupCondition& other) {
                       return other.type != condition.type && other.at > condition.at;
                     });
}

constexpr std::string_view kUnschedulable = "Unschedulable";
constexpr int kMaxQueueDepth = 16;
// A group that was let in gets its pods within milliseconds, and one that lost some gets others;
// only a longer wait is worth a warning. Volcano, which looks once a second, hardly ever sees the
// moments between.
constexpr Nanos kPodsAppearWithin = std::chrono::seconds(1);

// Of cpu, memory and the others.
using GaugeNames = std::array<std::string_view, 3>;
constexpr GaugeNames kAllocated{"volcano_queue_allocated_milli_cpu",
                                "volcano_queue_allocated_memory_bytes",
                                "volcano_queue_allocated_scalar_resources"};
constexpr GaugeNames kCapacity{"volcano_queue_capacity_milli_cpu",
                               "volcano_queue_capacity_memory_bytes",
                               "volcano_queue_capacity_scalar_resources"};
constexpr GaugeNames kDeserved{"volcano_queue_deserved_milli_cpu",
                               "volcano_queue_deserved_memory_bytes",
                               "volcano_queue_deserved_scalar_resources"};
constexpr GaugeNames kRequest{"volcano_queue_request_milli_cpu",
                              "volcano_queue_request_memory_bytes",
                              "volcano_queue_request_scalar_resources"};
constexpr GaugeNames kRealCapacity{"volcano_queue_real_capacity_milli_cpu",
                                   "volcano_queue_real_capacity_memory_bytes",
                                   "volcano_queue_real_capacity_scalar_resources"};
constexpr GaugeNames kInqueue{"volcano_queue_inqueue_milli_cpu",
                              "volcano_queue_inqueue_memory_bytes",
                              "volcano_queue_inqueue_scalar_resources"};

}  // namespace

TaskStatus Session::effective_status(const Task& task) const {
  return task.last_stamp == stamp_ ? task.last_status : task.status;
}

std::int32_t Session::schedulable_tasks(JobId job) const {
  std::int32_t count = 0;
  for (TaskId id : at(job).tasks) {
    const Task& task = at(id);
    if (task.status == TaskStatus::pending && is_allocated(effective_status(task))) ++count;
  }
  return count;
}

const std::string& Session::fit_error(JobId id) {
  JobNotes& known = notes(id);
  if (!known.fit_error.empty()) return known.fit_error;
  const Job& job = at(id);
  std::vector<std::string> lines;
  for (std::size_t s = 0; s < kTaskStatuses; ++s)
    if (job.count[s] > 0)
      lines.push_back(std::to_string(job.count[s]) + " " +
                      std::string(name_of(static_cast<TaskStatus>(s))));
  lines.push_back(std::to_string(job.min_available) + " minAvailable");
  std::string text = job.is_ready() ? "pod group is ready, " : "pod group is not ready, ";
  text += histogram(std::move(lines));
  if (std::int32_t pending = job.of(TaskStatus::pending); pending > 0) {
    std::int32_t schedulable = 0;
    for (TaskId task : job.tasks)
      if (at(task).status == TaskStatus::pending &&
          effective_status(at(task)) == TaskStatus::allocated)
        ++schedulable;
    lines.clear();
    if (schedulable > 0) lines.push_back(std::to_string(schedulable) + " Schedulable");
    if (pending > schedulable)
      lines.push_back(std::to_string(pending - schedulable) + " Unschedulable");
    text += "; Pending: " + histogram(std::move(lines));
  }
  if (known.first_failed.valid())
    text +=
        ". Origin reason is " + at(known.first_failed).name + ": " + *fit_text(known.first_failed);
  else if (!known.job_error.empty())
    text += ". Origin reason is: " + known.job_error;
  known.fit_error = std::move(text);
  return known.fit_error;
}

void Session::set_condition(JobId id, std::string_view type, std::string_view reason,
                            std::string message) {
  Job& job = cluster_.edit(id);
  if (job.implicit) return;
  JobNotes& known = notes(id);
  if (type == kUnschedulable) known.unschedulable = true;
  auto found = std::find_if(job.conditions.begin(), job.conditions.end(),
                            [&](const GroupCondition& c) { return c.type == type; });
  if (found == job.conditions.end())
    found = job.conditions.insert(job.conditions.end(), GroupCondition());
  else if (found->status == "True" && found->reason == reason && found->message == message &&
           !is_outdated(job, *found))
    return;
  *found = {std::string(type), "True", std::string(reason), std::move(message), uid_, now_};
  known.changed = true;
}

void Session::record_event(JobId job, TaskId task, bool warning, std::string_view reason,
                           std::string message) {
  decisions_.events.push_back({job, task, warning, std::string(reason), std::move(message)});
}

void Session::record_rejection(JobId id, std::string message) {
  Job& job = cluster_.edit(id);
  std::uint64_t now = digest(message);
  if (job.rejection_digest == now) return;
  job.rejection_digest = now;
  record_event(id, {}, false, kUnschedulable, std::move(message));
}

void Session::close() {
  for (PluginSlot& slot : plugins_) {
    MonoTime before = clock_->mono();
    slot.plugin->close(*this);
    decisions_.times.plugin_close.emplace_back(slot.name, clock_->mono() - before);
  }
  grant_sizes();
  for (JobId job : jobs_) {
    const JobNotes* known = find_notes(job);
    if (!rests(job) || (known && known->changed)) close_job(job);
    decisions_.waiting |= rests(job);
    decisions_.unschedulable_jobs += !at(job).is_ready();
  }
  undo_kept();
  cluster_.forget_evicted();
  start_rules_->close();
  write_queues();
  if (collect_gauges_) record_gauges();
}

bool Session::is_recovering(JobId id) const {
  const Job& job = at(id);
  return job.short_since != WallTime{} && !job.is_ready() &&
         now_ - job.short_since < kPodsAppearWithin;
}

Phase Session::phase_at_close(JobId id, bool unschedulable) const {
  const Job& job = at(id);
  if (job.of(TaskStatus::running) > 0 && unschedulable) return Phase::unknown;
  std::int32_t completed = job.of(TaskStatus::failed) + job.of(TaskStatus::succeeded);
  std::int32_t scheduled =
      job.of(TaskStatus::running) + job.of(TaskStatus::bound) + completed + job.releasing_on_node;
  if (scheduled >= job.min_available)
    return completed == scheduled ? Phase::completed : Phase::running;
  // Others are about to come, or have just been placed.
  bool recovers = is_arriving(id) || (job.short_since != WallTime{} && job.is_ready());
  if (recovers && job.allocated_tasks() > 0 && !job.is_pending()) return job.phase;
  return job.phase == Phase::inqueue ? Phase::inqueue : Phase::pending;
}

void Session::close_job(JobId id) {
  JobNotes& known = notes(id);
  Job& job = cluster_.edit(id);
  bool arriving = is_arriving(id);
  if (!job.implicit) {
    set_phase(id, phase_at_close(id, known.unschedulable));
    std::int32_t running = job.of(TaskStatus::running), succeeded = job.of(TaskStatus::succeeded),
                 failed = job.of(TaskStatus::failed);
    known.changed |= running != job.running || succeeded != job.succeeded || failed != job.failed ||
                     job.status_unwritten;
    job.running = running;
    job.succeeded = succeeded;
    job.failed = failed;
    job.status_unwritten = false;
    if (known.changed) decisions_.groups.push_back({id});
    if (!arriving) report_group_event(id, known.changed);
  }
  decisions_.waiting |= job.is_pending() || job.phase == Phase::inqueue;
  if (arriving)
    decisions_.waiting = true;
  else
    report_pods(id);
  job.arriving = false;
  bool failed = known.first_failed.valid() && job.of(TaskStatus::pipelined) == 0;
  job.resting_since = failed ? opened_at_ : 0;
  job.tried_at = now_;
}

void Session::report_group_event(JobId id, bool changed) {
  Job& job = cluster_.edit(id);
  bool waits =
      job.phase == Phase::unknown || job.phase == Phase::pending || job.phase == Phase::inqueue;
  std::string message;
  if (waits) {
    // A gang placed in this very session still has the phase Inqueue, and nothing to complain of.
    if (job.is_ready() && job.phase == Phase::inqueue && job.of(TaskStatus::pending) == 0) return;
    // Nor has one whose pods are about to be made.
    if (job.tasks.empty() && job.phase == Phase::inqueue &&
        now_ - job.inqueue_since < kPodsAppearWithin)
      return;
    message = std::to_string(job.of(TaskStatus::pending)) + "/" + std::to_string(job.tasks.size()) +
              " tasks in gang unschedulable: " + fit_error(id);
  } else if (changed) {
    message = "pod group is ready";
  } else {
    return;
  }
  std::uint64_t now = digest(message);
  if (job.event_digest == now) return;
  job.event_digest = now;
  record_event(id, {}, waits, waits ? kUnschedulable : std::string_view("Scheduled"),
               std::move(message));
}

void Session::report_pods(JobId id) {
  const Job& job = at(id);
  if (job.of(TaskStatus::pending) + job.of(TaskStatus::allocated) + job.of(TaskStatus::pipelined) ==
      0)
    return;
  for (TaskId id_of_task : job.tasks) {
    const Task& task = at(id_of_task);
    bool waits = task.status == TaskStatus::pending || task.status == TaskStatus::allocated ||
                 task.status == TaskStatus::pipelined;
    if (!waits) continue;
    decisions_.waiting |= !task.gated;
    if (task.ours && !task.gated) report_pod(id_of_task);
  }
}

void Session::report_pod(TaskId id) {
  Task& task = cluster_.edit(id);
  TaskStatus status = effective_status(task);
  NodeId node = task.last_stamp == stamp_ ? task.last_node : task.node;
  auto assignable = [&](std::string_view what) {
    return "Pod " + task.ns + "/" + task.name + " can possibly be assigned to " +
           cluster_.at(node).name + ", once " + std::string(what);
  };
  std::string_view reason = kUnschedulable;
  std::string message;
  const std::string* text = fit_text(id);
  bool plain = at(task.job).implicit;
  // kube-scheduler says why no node took a pod, not where it will go.
  if (plain && text == nullptr && status == TaskStatus::pipelined) return;
  if (status == TaskStatus::allocated) {
    reason = "Schedulable";
    message = assignable("minAvailable is satisfied");
  } else if (status == TaskStatus::pipelined && !plain) {
    message = assignable("resource is released and minAvailable is satisfied");
  } else if (text != nullptr) {
    message = *text;
  } else {
    message = fit_error(task.job);
  }
  NodeId nominated =
      task.nominated_stamp == stamp_ && status == TaskStatus::pipelined ? node : NodeId();
  std::uint64_t now = digest(reason, message);
  if (task.condition_digest == now && (!nominated.valid() || nominated == task.nominated)) return;
  task.condition_digest = now;
  record_event({}, id, true, "FailedScheduling", message);
  decisions_.pods.push_back({id, std::string(reason), std::move(message), nominated});
  if (nominated.valid()) task.nominated = nominated;
}

void Session::undo_kept() {
  for (auto id = kept_.rbegin(); id != kept_.rend(); ++id) {
    TaskStatus status = at(*id).status;
    if (status != TaskStatus::allocated && status != TaskStatus::pipelined) continue;
    NodeId node = at(*id).node;
    if (status == TaskStatus::pipelined) decisions_.pipelined.push_back({*id, node});
    cluster_.move(*id, TaskStatus::pending, {});
    unreserve(*id, node);
  }
  kept_.clear();
}

void Session::write_queues() {
  queue_own_.assign(cluster_.queues().size(), Resources());
  queue_allocated_.assign(cluster_.queues().size(), Resources());
  queue_counts_.assign(cluster_.queues().size(), QueueCounts());
  for (Resources& amount : queue_allocated_) amount.set(kPods, 0);
  for (JobId id : jobs_) {
    const Job& job = at(id);
    if (!is_in_queue(id)) continue;
    QueueCounts& counts = queue_counts_[job.queue.index()];
    switch (job.phase) {
      case Phase::pending:
        ++counts.pending;
        break;
      case Phase::running:
        ++counts.running;
        break;
      case Phase::unknown:
        ++counts.unknown;
        break;
      case Phase::inqueue:
        ++counts.inqueue;
        break;
      case Phase::completed:
        ++counts.completed;
        break;
      case Phase::none:
        break;
    }
    queue_own_[job.queue.index()] += job.allocated;
  }
  // A queue's allocation counts for its ancestors too. The limit ends a cycle of parents.
  for (std::size_t i = 0; i < queue_own_.size(); ++i) {
    QueueId queue(i);
    for (int depth = 0; queue.valid() && depth < kMaxQueueDepth; ++depth) {
      queue_allocated_[queue.index()] += queue_own_[i];
      const Queue& here = at(queue);
      if (here.name == "root") break;
      queue = cluster_.find_queue(here.parent.empty() ? "root" : here.parent);
    }
  }
  for (std::size_t i = 0; i < queue_allocated_.size(); ++i) {
    Queue& queue = cluster_.edit(QueueId(i));
    if (!queue.live) continue;
    bool same = queue.status_known && queue.written_counts == queue_counts_[i] &&
                queue.written_allocated.value == queue_allocated_[i].value;
    if (same) continue;
    queue.status_known = true;
    // What its status names and nobody holds any more must be taken out of it.
    std::uint32_t named = queue.written_allocated.present;
    queue.written_allocated = queue_allocated_[i];
    queue.written_allocated.present |= named;
    queue.written_counts = queue_counts_[i];
    decisions_.queues.push_back({QueueId(i)});
  }
}

// Volcano's figures, of every queue there is: one that has lost its jobs has none of anything.
void Session::record_gauges() {
  for (std::size_t i = 0; i < cluster_.queues().size(); ++i) {
    const Queue& queue = cluster_.queues()[i];
    if (!queue.live) continue;
    auto record = [&](std::string_view name, double value, int resource = -1) {
      decisions_.gauges.push_back({name, QueueId(i), static_cast<std::int16_t>(resource), value});
    };
    auto amounts = [&](const GaugeNames& names, const auto& amount) {
      record(names[0], static_cast<double>(amount[kCpu]));
      record(names[1], static_cast<double>(amount[kMemory]));
      each_dim(amount.present & ~((1u << kFirstExtended) - 1),
               [&](Dim d) { record(names[2], static_cast<double>(amount[d]), d); });
    };
    amounts(kAllocated, queue.written_allocated);
    amounts(kCapacity, queue.capability);
    record("volcano_queue_weight", queue.weight);
    std::vector<QueueAccount> known = accounts(QueueId(i));
    if (known.empty()) continue;
    amounts(kDeserved, known.front().deserved);
    amounts(kRequest, known.front().request);
    amounts(kRealCapacity, known.front().limit);
    amounts(kInqueue, known.front().inqueue);
    record("volcano_queue_share", known.front().share);
    record("volcano_queue_overused", known.front().overused ? 1 : 0);
  }
}

}  // namespace hekla::scheduler
