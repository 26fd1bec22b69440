// capacity: every queue says what it deserves, at most may have (capability) and always keeps
// (guarantee). A queue may borrow beyond what it deserves up to its capability while others leave
// it idle, and gives it back by reclaim. Queues without anything deserved come last.
//
// With enableHierarchy queues form a tree by spec.parent: limits hold on every level, what a queue
// leaves out it inherits from its parent, jobs live in the leaves. A job elsewhere, an unknown
// parent or a cycle stops this plugin's queues for the session, as nothing right could be decided.
//
// Argument: ancestorReclaimLevel (0), how many ancestors above a queue may lend it their own
// unmet due when it reclaims.
#include <algorithm>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr std::size_t kDeepestQueue = 16;

struct CapacityQueue {
  bool known = false;
  Resources deserved, guarantee, capability, real_capability;
  Resources allocated, request, inqueue, elastic;
  double share = 0;
  bool has_children = false;
  std::vector<std::size_t> ancestors;  // the root first
};

bool asks_for(const Resources& request, Dim d) { return d != kPods && request[d] > 0; }

bool share_a_dimension(const Resources& a, const Resources& b) {
  bool found = false;
  each_dim(a.present, [&](Dim d) { found |= asks_for(a, d) && b[d] > 0; });
  return found;
}

// Lowers `amount` to `limit` where the limit says something; for cpu and memory zero says nothing.
void limit_to(Resources& amount, const Resources& limit) {
  each_dim(limit.present, [&](Dim d) {
    if ((d == kCpu || d == kMemory) && limit[d] <= 0) return;
    if (amount.has(d)) amount.set(d, std::min(amount[d], limit[d]));
  });
}

class Capacity final : public Plugin {
 public:
  Capacity(bool hierarchy, const Arguments& arguments)
      : hierarchy_(hierarchy), reclaim_level_(arguments.integer("ancestorReclaimLevel", 0)) {}

  Hooks hooks() const override {
    Hooks hooks = hooks_of({Hook::queue_order, Hook::allocatable, Hook::preemptive,
                            Hook::reclaimable, Hook::unified_evictable, Hook::job_enqueueable,
                            Hook::job_enqueued, Hook::events});
    if (hierarchy_) hooks |= hooks_of({Hook::victim_queue_order});
    return hooks;
  }

  void open(Session& session) override {
    session_ = &session;
    std::size_t count = session.cluster().queues().size();
    // One place more than there are queues: the root, should nobody have made one.
    queues_.assign(count + 1, CapacityQueue());
    QueueId root = session.cluster().find_queue("root");
    root_ = root.valid() ? root.index() : count;
    problem_.clear();
    for (std::size_t i = 0; i < count; ++i)
      if (session.cluster().queues()[i].live) read_queue(i);
    if (hierarchy_)
      build_tree();
    else
      divide_flat();
    for (JobId job : session.jobs())
      if (session.is_in_queue(job)) count_job(job);
    for (CapacityQueue& queue : queues_) update_share(queue);
  }

  std::vector<QueueAccount> accounts(QueueId id) override {
    std::vector<QueueAccount> out;
    auto add = [&](std::size_t i) {
      const CapacityQueue& queue = queues_[i];
      // Volcano's word: it holds all it deserves of something.
      bool overused =
          !queue.deserved.is_empty() && !less_equal(queue.allocated, queue.deserved, Missing::zero);
      out.push_back({i + 1 < queues_.size() ? QueueId(i) : QueueId(), false,
                     to_shares(queue.deserved), to_shares(queue.real_capability), queue.allocated,
                     queue.request, queue.inqueue, queue.elastic, queue.share, overused});
    };
    if (!queues_[id.index()].known) return out;
    add(id.index());
    for (auto i = at(id).ancestors.rbegin(); i != at(id).ancestors.rend(); ++i) add(*i);
    return out;
  }

  std::string problem() const override { return problem_; }

  int queue_order(QueueId a, QueueId b) const override {
    std::int32_t p = session_->at(a).priority, q = session_->at(b).priority;
    if (p != q) return p > q ? -1 : 1;
    const CapacityQueue &x = at(a), &y = at(b);
    if (!hierarchy_) return compare_shares(x, y);
    if (x.has_children != y.has_children) return x.has_children ? 1 : -1;
    if (x.has_children) return compare_shares(x, y);
    std::size_t below = common_level(x, y) + 1;
    return compare_shares(below < x.ancestors.size() ? queues_[x.ancestors[below]] : x,
                          below < y.ancestors.size() ? queues_[y.ancestors[below]] : y);
  }

  // Queues that part from the taker's branch later give first.
  int victim_queue_order(QueueId a, QueueId b, QueueId taker) const override {
    std::size_t x = common_level(at(a), at(taker)), y = common_level(at(b), at(taker));
    return x == y ? 0 : x > y ? -1 : 1;
  }

  bool allocatable(QueueId id, TaskId task) override {
    if (!session_->is_in_queue(session_->at(task).job)) return true;
    if (!is_sound() || !session_->at(id).open || at(id).has_children) return false;
    const Resources& request = request_of(task);
    return all_levels(at(id), [&](const CapacityQueue& queue) {
      Resources after = queue.allocated;
      after += request;
      return exceeded(after, queue.real_capability, request) == 0;
    });
  }

  bool preemptive(QueueId id, TaskId task) override {
    if (!allocatable_elsewhere_aside(id, task)) return false;
    const Resources& request = request_of(task);
    const CapacityQueue& queue = at(id);
    if (has_due(queue, request)) return true;
    auto levels = static_cast<std::size_t>(std::max<std::int64_t>(reclaim_level_, 0));
    for (std::size_t i = 0; i < std::min(levels, queue.ancestors.size()); ++i)
      if (has_due(queues_[queue.ancestors[queue.ancestors.size() - 1 - i]], request)) return true;
    return false;
  }

  Victims reclaimable(TaskId reclaimer, std::span<const TaskId> candidates) override {
    return choose(request_of(reclaimer), candidates);
  }
  Victims unified_evictable(const Eviction& eviction, std::span<const TaskId> candidates) override {
    if (eviction.kind == Eviction::Kind::preempt) return {true, {}};
    return choose(session_->at(eviction.job).pending_request, candidates);
  }

  Vote job_enqueueable(JobId id) override {
    const Job& job = session_->at(id);
    const CapacityQueue& queue = at(job.queue);
    if (!is_sound() || queue.has_children || !session_->at(job.queue).open) return Vote::reject;
    if (!job.has_min_resources) return Vote::permit;
    std::uint32_t over = 0;
    bool fits = all_levels(queue, [&](const CapacityQueue& level) {
      Resources wanted = job.min_resources;
      wanted += level.allocated;
      wanted += level.inqueue;
      wanted -= level.elastic;
      over = exceeded(wanted, level.real_capability, job.min_resources);
      return over == 0;
    });
    if (fits) return Vote::permit;
    session_->record_rejection(
        id, "queue resource quota insufficient: " +
                session_->cluster().dimensions().list(over, "insufficient", job.min_unknown));
    return Vote::reject;
  }
  void job_enqueued(JobId id) override {
    const Job& job = session_->at(id);
    if (!job.has_min_resources) return;
    Resources claim = job.outstanding();
    for_each_level(queues_[job.queue.index()], [&](CapacityQueue& q) { q.inqueue += claim; });
  }

  void on_allocate(TaskId id) override {
    if (!session_->is_in_queue(session_->at(id).job)) return;
    for_each_level(queue_of(id), [&](CapacityQueue& q) { q.allocated += request_of(id); });
    for_each_level(queue_of(id), update_share);
  }
  void on_release(TaskId id) override {
    if (!session_->is_in_queue(session_->at(id).job)) return;
    for_each_level(queue_of(id), [&](CapacityQueue& q) { q.allocated -= request_of(id); });
    for_each_level(queue_of(id), update_share);
  }

 private:
  const CapacityQueue& at(QueueId id) const { return queues_[id.index()]; }
  CapacityQueue& queue_of(TaskId id) {
    return queues_[session_->at(session_->at(id).job).queue.index()];
  }
  const Resources& request_of(TaskId id) const {
    return session_->cluster().class_of(session_->at(id)).request;
  }

  template <class Ask>
  bool all_levels(const CapacityQueue& queue, Ask ask) const {
    if (!ask(queue)) return false;
    return std::all_of(queue.ancestors.rbegin(), queue.ancestors.rend(),
                       [&](std::size_t i) { return ask(queues_[i]); });
  }
  template <class Do>
  void for_each_level(CapacityQueue& queue, Do change) {
    change(queue);
    for (std::size_t i : queue.ancestors) change(queues_[i]);
  }

  // ---- limits ----

  void read_queue(std::size_t i) {
    const Queue& object = session_->cluster().queues()[i];
    CapacityQueue& queue = queues_[i];
    queue.known = true;
    queue.deserved = object.deserved;
    queue.guarantee = object.guarantee;
    queue.capability = object.capability;
  }

  void divide_flat() {
    Resources guaranteed;
    for (const CapacityQueue& queue : queues_) guaranteed += queue.guarantee;
    for (CapacityQueue& queue : queues_) {
      if (!queue.known) continue;
      queue.real_capability = excess(session_->cluster().total(), guaranteed);
      queue.real_capability += queue.guarantee;
      limit_to(queue.real_capability, queue.capability);
      each_dim(queue.deserved.present, [&](Dim d) {
        if (queue.real_capability.has(d))
          queue.deserved.set(d, std::min(queue.deserved[d], queue.real_capability[d]));
      });
      each_dim(queue.guarantee.present, [&](Dim d) {
        queue.deserved.set(d, std::max(queue.deserved[d], queue.guarantee[d]));
      });
    }
  }

  void build_tree() {
    std::vector<std::vector<std::size_t>> children(queues_.size());
    for (std::size_t i = 0; i + 1 < queues_.size(); ++i) {
      if (i == root_ || !queues_[i].known) continue;
      std::size_t parent = parent_of(i);
      if (parent == queues_.size()) return refuse(i, "its parent does not exist");
      children[parent].push_back(i);
      queues_[parent].has_children = true;
    }
    CapacityQueue& root = queues_[root_];
    root.known = true;
    const Resources& total = session_->cluster().total();
    if (root.capability.is_empty()) root.capability = total;
    if (root.deserved.is_empty()) root.deserved = total;
    root.real_capability = total;
    std::vector<std::size_t> order{root_};
    for (std::size_t at = 0; at < order.size(); ++at) {
      std::size_t parent = order[at];
      divide_among(parent, children[parent]);
      for (std::size_t child : children[parent]) {
        queues_[child].ancestors = queues_[parent].ancestors;
        queues_[child].ancestors.push_back(parent);
        if (queues_[child].ancestors.size() > kDeepestQueue) return refuse(child, "it is too deep");
        order.push_back(child);
      }
    }
    for (std::size_t i = 0; i + 1 < queues_.size(); ++i)
      if (queues_[i].known && i != root_ && queues_[i].ancestors.empty())
        return refuse(i, "its parents form a cycle");
  }

  std::size_t parent_of(std::size_t i) const {
    const std::string& name = session_->cluster().queues()[i].parent;
    if (name.empty() || name == "root") return root_;
    QueueId parent = session_->cluster().find_queue(name);
    return parent.valid() && session_->at(parent).live ? parent.index() : queues_.size();
  }

  bool is_sound() const { return problem_.empty(); }

  void refuse(std::size_t i, std::string_view why) {
    if (is_sound())
      problem_ =
          "the tree of queues is not sound, and the capacity plugin schedules nothing: queue " +
          session_->cluster().queues()[i].name + ": " + std::string(why);
  }

  void divide_among(std::size_t parent, const std::vector<std::size_t>& children) {
    const CapacityQueue& above = queues_[parent];
    Resources guaranteed;
    for (std::size_t i : children) guaranteed += queues_[i].guarantee;
    for (std::size_t i : children) {
      CapacityQueue& queue = queues_[i];
      each_dim(above.capability.present, [&](Dim d) {
        bool unset =
            d == kCpu || d == kMemory ? queue.capability[d] <= 0 : !queue.capability.has(d);
        if (unset) queue.capability.set(d, above.capability[d]);
      });
      queue.real_capability = excess(above.real_capability, guaranteed);
      queue.real_capability += queue.guarantee;
      limit_to(queue.real_capability, queue.capability);
    }
  }

  void count_job(JobId id) {
    const Job& job = session_->at(id);
    CapacityQueue& queue = queues_[job.queue.index()];
    if (queue.has_children) return refuse(job.queue.index(), "it has jobs and child queues");
    bool running = job.phase == Phase::running && job.allocated_tasks() >= job.min_available;
    Resources elastic = excess(job.allocated, job.min_resources);
    for_each_level(queue, [&](CapacityQueue& level) {
      level.allocated += job.claimed;
      level.request += job.allocated;
      level.request += job.pending_request;
      level.elastic += elastic;
      if (job.has_min_resources && (job.phase == Phase::inqueue || running))
        level.inqueue += job.outstanding();
    });
  }

  // ---- shares ----

  static void update_share(CapacityQueue& queue) {
    queue.share = queue.deserved.is_empty() ? 1 : dominant_share(queue.allocated, queue.deserved);
  }
  static int compare_shares(const CapacityQueue& a, const CapacityQueue& b) {
    if (a.share != b.share) return a.share < b.share ? -1 : 1;
    bool x = a.deserved.is_empty(), y = b.deserved.is_empty();
    return x == y ? 0 : x ? 1 : -1;
  }
  // How deep the two branches run together; 0 is the root.
  static std::size_t common_level(const CapacityQueue& a, const CapacityQueue& b) {
    std::size_t level = 0;
    for (std::size_t i = 0; i < std::min(a.ancestors.size(), b.ancestors.size()); ++i) {
      if (a.ancestors[i] != b.ancestors[i]) break;
      level = i;
    }
    return level;
  }

  // ---- reclaim ----

  // Within the queue's own limits; what other queues hold is what reclaim is about.
  bool allocatable_elsewhere_aside(QueueId id, TaskId task) {
    if (!is_sound() || !session_->at(id).open) return false;
    Resources after = at(id).allocated;
    after += request_of(task);
    return exceeded(after, at(id).real_capability, request_of(task)) == 0;
  }
  static bool has_due(const CapacityQueue& queue, const Resources& request) {
    bool due = false;
    each_dim(request.present, [&](Dim d) {
      due |= asks_for(request, d) && queue.deserved[d] > 0 &&
             queue.allocated[d] + request[d] <= queue.deserved[d];
    });
    return due;
  }

  Victims choose(const Resources& wanted, std::span<const TaskId> candidates) const {
    Victims victims;
    if (!is_sound()) return victims;
    std::vector<std::pair<std::size_t, Resources>> left;
    for (TaskId id : candidates) {
      const Resources& request = request_of(id);
      if (!share_a_dimension(request, wanted)) continue;
      std::size_t owner = session_->at(session_->at(id).job).queue.index();
      const CapacityQueue& queue = queues_[owner];
      auto held = std::find_if(left.begin(), left.end(),
                               [&](const auto& entry) { return entry.first == owner; });
      if (held == left.end()) held = left.insert(left.end(), {owner, queue.allocated});
      Resources rest = held->second;
      rest -= request;
      if (!less_equal(queue.guarantee, rest, Missing::zero)) continue;
      bool beyond = !share_a_dimension(request, queue.deserved);
      each_dim(request.present, [&](Dim d) {
        beyond |=
            asks_for(request, d) && queue.deserved[d] > 0 && held->second[d] > queue.deserved[d];
      });
      if (!beyond) continue;
      held->second = rest;
      victims.tasks.push_back(id);
    }
    return victims;
  }

  Session* session_ = nullptr;
  bool hierarchy_;
  std::int64_t reclaim_level_;
  std::string problem_;  // of the tree
  std::size_t root_ = 0;
  std::vector<CapacityQueue> queues_;
};

}  // namespace

extern const PluginInfo plugin_capacity;
const PluginInfo plugin_capacity{
    "capacity", "queues with what they deserve, may have and keep", "ancestorReclaimLevel (0)",
    [](const PluginOption& option) -> std::unique_ptr<Plugin> {
      return std::make_unique<Capacity>(option.hierarchy, option.arguments);
    }};

}  // namespace hekla::scheduler
