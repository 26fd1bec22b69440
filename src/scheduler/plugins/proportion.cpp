// proportion: divides the cluster among the queues that have jobs, by weight. What a queue deserves
// is found by water filling between its guarantee, its request and its capability. A queue that
// holds all it deserves is overused and gets no turn; a pod is placed only if its queue stays
// within what it deserves in the dimensions the pod asks for; a group is let in while its queue
// stays within its capability. Queues go by spec.priority, then by share. No arguments.
#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::max();

struct QueueAttributes {
  QueueId id;
  bool has_jobs = false;
  bool met = false;
  double share = 0;
  Shares deserved, real_capability;
  Resources allocated, request, inqueue, elastic, guarantee;
};

class Proportion final : public Plugin {
 public:
  Hooks hooks() const override {
    return hooks_of({Hook::queue_order, Hook::overused, Hook::allocatable, Hook::preemptive,
                     Hook::reclaimable, Hook::unified_evictable, Hook::job_enqueueable,
                     Hook::job_enqueued, Hook::events});
  }

  void open(Session& session) override {
    session_ = &session;
    queues_.assign(session.cluster().queues().size(), QueueAttributes());
    guaranteed_ = Resources();
    for (const Queue& queue : session.cluster().queues())
      if (queue.live) guaranteed_ += queue.guarantee;
    for (JobId job : session.jobs())
      if (session.is_in_queue(job)) count(job);
    fill();
  }

  std::vector<QueueAccount> accounts(QueueId id) override {
    const QueueAttributes& queue = queues_[id.index()];
    QueueAccount out{id, true, {}, real_capability(session_->at(id), guaranteed_)};
    if (!queue.has_jobs) return {out};
    out.deserved = queue.deserved;
    out.allocated = queue.allocated;
    out.request = queue.request;
    out.inqueue = queue.inqueue;
    out.elastic = queue.elastic;
    out.share = queue.share;
    out.overused = overused(id);
    return {out};
  }

  int queue_order(QueueId a, QueueId b) const override {
    std::int32_t x = session_->at(a).priority, y = session_->at(b).priority;
    if (x != y) return x > y ? -1 : 1;
    double s = queues_[a.index()].share, t = queues_[b.index()].share;
    return s == t ? 0 : s < t ? -1 : 1;
  }
  bool overused(QueueId id) override {
    const QueueAttributes& queue = queues_[id.index()];
    return less_equal(queue.deserved, queue.allocated, Missing::zero) && !session_->keeps_room(id);
  }
  bool allocatable(QueueId id, TaskId task) override {
    if (!session_->is_in_queue(session_->at(task).job)) return true;
    if (!session_->at(id).open) return false;
    const QueueAttributes& queue = queues_[id.index()];
    const Resources& request = session_->cluster().class_of(session_->at(task)).request;
    Resources after = queue.allocated;
    after += request;
    // Room kept for a group that has waited too long is nobody else's: were the group held to the
    // queue's share, the room would stay empty for ever.
    bool kept = session_->keeps_room(session_->at(task).job);
    return exceeded(after, kept ? queue.real_capability : queue.deserved, request) == 0;
  }
  bool preemptive(QueueId id, TaskId task) override { return allocatable(id, task); }

  Victims reclaimable(TaskId, std::span<const TaskId> candidates) override {
    Victims victims;
    std::vector<std::pair<QueueId, Resources>> left;
    for (TaskId id : candidates) {
      const Task& task = session_->at(id);
      QueueId owner = session_->at(task.job).queue;
      const QueueAttributes& queue = queues_[owner.index()];
      auto found = std::find_if(left.begin(), left.end(),
                                [&](const auto& entry) { return entry.first == owner; });
      if (found == left.end()) found = left.insert(left.end(), {owner, queue.allocated});
      if (less_equal(found->second, queue.deserved, Missing::zero)) continue;
      found->second -= session_->cluster().class_of(task).request;
      victims.tasks.push_back(id);
    }
    return victims;
  }

  Victims unified_evictable(const Eviction& eviction, std::span<const TaskId> candidates) override {
    if (eviction.kind == Eviction::Kind::preempt) return {true, {}};
    return reclaimable({}, candidates);
  }

  Vote job_enqueueable(JobId id) override {
    const Job& job = session_->at(id);
    if (!session_->at(job.queue).open) return Vote::reject;
    if (!job.has_min_resources) return Vote::permit;
    const QueueAttributes& queue = queues_[job.queue.index()];
    Resources wanted = job.min_resources;
    wanted += queue.allocated;
    wanted += queue.inqueue;
    wanted -= queue.elastic;
    std::uint32_t over = exceeded(wanted, queue.real_capability, job.min_resources);
    if (over == 0) return Vote::permit;
    session_->record_rejection(
        id, "queue resource quota insufficient: " +
                session_->cluster().dimensions().list(over, "insufficient", job.min_unknown));
    return Vote::reject;
  }
  void job_enqueued(JobId id) override {
    const Job& job = session_->at(id);
    if (job.has_min_resources) queues_[job.queue.index()].inqueue += job.outstanding();
  }

  void on_allocate(TaskId id) override {
    if (!session_->is_in_queue(session_->at(id).job)) return;
    QueueAttributes& queue = queue_of(id);
    queue.allocated += session_->cluster().class_of(session_->at(id)).request;
    queue.share = dominant_share(queue.allocated, queue.deserved);
  }
  void on_release(TaskId id) override {
    if (!session_->is_in_queue(session_->at(id).job)) return;
    QueueAttributes& queue = queue_of(id);
    queue.allocated -= session_->cluster().class_of(session_->at(id)).request;
    queue.share = dominant_share(queue.allocated, queue.deserved);
  }

 private:
  QueueAttributes& queue_of(TaskId id) {
    return queues_[session_->at(session_->at(id).job).queue.index()];
  }

  void count(JobId id) {
    const Job& job = session_->at(id);
    QueueAttributes& queue = queues_[job.queue.index()];
    if (!queue.has_jobs) {
      queue.has_jobs = true;
      queue.id = job.queue;
      queue.guarantee = session_->at(job.queue).guarantee;
      queue.real_capability = real_capability(session_->at(job.queue), guaranteed_);
    }
    queue.allocated += job.claimed;
    queue.request += job.allocated;
    queue.request += job.pending_request;
    queue.elastic += excess(job.allocated, job.min_resources);
    bool running = job.phase == Phase::running && job.allocated_tasks() >= job.min_available;
    if (job.has_min_resources && (job.phase == Phase::inqueue || running))
      queue.inqueue += job.outstanding();
  }

  Shares real_capability(const Queue& queue, const Resources& guaranteed) const {
    Shares out = to_shares(excess(session_->cluster().total(), guaranteed));
    out += queue.guarantee;
    if (!queue.has_capability) return out;
    each_dim(queue.capability.present, [&](Dim d) {
      auto limit = static_cast<double>(queue.capability[d]);
      if ((d == kCpu || d == kMemory) && limit <= 0) limit = kUnlimited;
      if (out.has(d)) out.set(d, std::min(out[d], limit));
    });
    return out;
  }

  void fill() {
    Shares remaining = to_shares(session_->cluster().total());
    while (true) {
      double weights = 0;
      for (const QueueAttributes& queue : queues_)
        if (queue.has_jobs && !queue.met) weights += session_->at(queue.id).weight;
      if (weights == 0) break;
      Shares before = remaining, change;
      for (QueueAttributes& queue : queues_) {
        if (!queue.has_jobs || queue.met) continue;
        Shares old = queue.deserved;
        raise(queue, before, session_->at(queue.id).weight / weights);
        change += queue.deserved;
        change -= old;
        queue.met =
            less_equal(queue.request, queue.deserved, Missing::zero) || queue.deserved == old;
      }
      remaining -= change;
      each_dim(remaining.present,
               [&](Dim d) { remaining.value[d] = std::max(remaining.value[d], 0.0); });
      if (remaining.is_empty() || remaining == before) break;
    }
    // Sums of fractions miss whole amounts by the last digit, and a pod would miss its place by it.
    for (QueueAttributes& queue : queues_)
      each_dim(queue.deserved.present, [&](Dim d) {
        double whole = std::round(queue.deserved[d]);
        if (std::fabs(queue.deserved[d] - whole) < 1e-3) queue.deserved.set(d, whole);
      });
    for (QueueAttributes& queue : queues_)
      if (queue.has_jobs) queue.share = dominant_share(queue.allocated, queue.deserved);
  }

  static void raise(QueueAttributes& queue, const Shares& remaining, double part) {
    each_dim(remaining.present,
             [&](Dim d) { queue.deserved.set(d, queue.deserved[d] + remaining[d] * part); });
    each_dim(queue.deserved.present, [&](Dim d) {
      double amount = queue.deserved[d];
      if (queue.real_capability.has(d)) amount = std::min(amount, queue.real_capability[d]);
      queue.deserved.set(d, std::min(amount, static_cast<double>(queue.request[d])));
    });
    each_dim(queue.guarantee.present, [&](Dim d) {
      queue.deserved.set(d, std::max(queue.deserved[d], static_cast<double>(queue.guarantee[d])));
    });
  }

  Session* session_ = nullptr;
  Resources guaranteed_;
  std::vector<QueueAttributes> queues_;
};

}  // namespace

extern const PluginInfo plugin_proportion;
const PluginInfo plugin_proportion{
    "proportion", "divides the cluster among queues by weight", "",
    [](const PluginOption&) -> std::unique_ptr<Plugin> { return std::make_unique<Proportion>(); }};

}  // namespace hekla::scheduler
