#include "scheduler/session/session.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "scheduler/session/action.h"
#include "scheduler/session/start_rules.h"

namespace hekla::scheduler {

namespace {

// Tables beyond this many are thrown away, least recently used first.
constexpr std::size_t kMaxTables = 512;

const PluginInfo* find_plugin(std::string_view name, std::span<const PluginInfo* const> all) {
  for (const PluginInfo* info : all)
    if (info->name == name) return info;
  return nullptr;
}

const ActionInfo* find_action(std::string_view name) {
  for (const ActionInfo* info : all_actions())
    if (info->name == name) return info;
  return nullptr;
}

}  // namespace

void Decisions::clear() {
  binds.clear();
  preparations.clear();
  evictions.clear();
  pipelined.clear();
  groups.clear();
  pods.clear();
  events.clear();
  queues.clear();
  gauges.clear();
  times = {};
  waiting = false;
  unschedulable_jobs = 0;
  preemption_attempts = 0;
}

Session::Session(Cluster& cluster)
    : cluster_(cluster), start_rules_(std::make_unique<StartRules>(cluster)) {}
Session::~Session() = default;

void Session::configure(Configuration configuration, std::span<const PluginInfo* const> plugins) {
  configuration_ = std::move(configuration);
  cluster_.gain_room();  // other rules may find other rooms
  plugins_.clear();
  listeners_.clear();
  for (TieredPlugins& tiers : tiers_) tiers.clear();
  rules_ = NodeRules{{}, {}, {}, rules_.version + 1};
  for (const Tier& tier : configuration_.tiers) {
    for (TieredPlugins& tiers : tiers_) tiers.emplace_back();
    for (const PluginOption& option : tier.plugins) {
      const PluginInfo* info = find_plugin(option.name, plugins);
      CHECK(info != nullptr, "a parsed configuration names an unknown plugin");
      std::unique_ptr<Plugin> made = info->make(option);
      Hooks hooks = made->hooks() & option.enabled;
      for (std::size_t hook = 0; hook < kHooks; ++hook)
        if (hooks.test(hook)) tiers_[hook].back().push_back(made.get());
      if (hooks.test(index_of(Hook::events))) listeners_.push_back(made.get());
      if (hooks.test(index_of(Hook::predicate))) rules_.filters.push_back(made.get());
      if (hooks.test(index_of(Hook::node_order))) {
        rules_.scores.push_back(made.get());
        std::span<const NormalizedScore> scores = made->normalized_scores();
        for (std::size_t i = 0; i < scores.size(); ++i)
          if (scores[i].weight != 0) rules_.normalized.push_back({made.get(), i, scores[i]});
      }
      plugins_.push_back({option.name, std::move(made)});
    }
    for (TieredPlugins& tiers : tiers_)
      if (tiers.back().empty()) tiers.pop_back();
  }
}

const Decisions& Session::run(const Clock& clock, std::string uid) {
  decisions_.clear();
  clock_ = &clock;
  now_ = clock.wall();
  uid_ = std::move(uid);
  MonoTime begin = clock.mono();
  open();
  decisions_.times.open = clock.mono() - begin;
  for (const std::string& name : configuration_.actions) {
    MonoTime before = clock.mono();
    const ActionInfo* action = find_action(name);
    auto arguments = configuration_.action_arguments.find(name);
    static const Arguments kNone;
    action->execute(*this,
                    arguments == configuration_.action_arguments.end() ? kNone : arguments->second);
    decisions_.times.actions.emplace_back(action->name, clock.mono() - before);
  }
  preempt_for_plain_pods();
  close();
  decisions_.times.total = clock.mono() - begin;
  return decisions_;
}

void Session::open() {
  ++stamp_;
  cluster_.trim_log();
  cluster_.settle();
  fit_texts_.clear();
  kept_.clear();
  job_notes_.resize(cluster_.jobs().size());
  task_notes_.resize(cluster_.tasks().size());
  jobs_.clear();
  opened_at_ = cluster_.version();
  resting_.assign(cluster_.jobs().size(), false);
  for (std::size_t i = 0; i < cluster_.jobs().size(); ++i) {
    if (!takes_part(JobId(i))) continue;
    jobs_.push_back(JobId(i));
    resting_[i] = may_rest(cluster_.jobs()[i]);
  }
  for (PluginSlot& slot : plugins_) {
    MonoTime before = clock_->mono();
    slot.plugin->open(*this);
    decisions_.times.plugin_open.emplace_back(slot.name, clock_->mono() - before);
  }
  start_rules_->open(*this);
}

bool Session::may_rest(const Job& job) const {
  if (job.resting_since == 0 || job.status_unwritten) return false;
  std::uint64_t news = std::max({cluster_.room_gained(), job.changed, at(job.queue).changed});
  return news <= job.resting_since && now_ >= job.tried_at && now_ - job.tried_at < longest_rest_;
}

bool Session::takes_part(JobId id) const {
  if (!id.valid()) return false;
  const Job& job = at(id);
  return job.live && (job.has_group || job.implicit) && at(job.queue).live;
}

// ---- questions
// --------------------------------------------------------------------------------------

bool Session::queue_before(QueueId a, QueueId b) const {
  int order = evaluate<FirstDecisive>(asked(Hook::queue_order),
                                      [&](Plugin& p) { return p.queue_order(a, b); });
  if (order != 0) return order < 0;
  const Queue &x = at(a), &y = at(b);
  if (x.created != y.created) return x.created < y.created;
  return x.uid != y.uid ? x.uid < y.uid : x.name < y.name;
}

bool Session::job_before(JobId a, JobId b) const {
  if (at(a).queue == at(b).queue && at(at(a).queue).fifo) return start_rules_->goes_first(a, b);
  int order =
      evaluate<FirstDecisive>(asked(Hook::job_order), [&](Plugin& p) { return p.job_order(a, b); });
  if (order != 0) return order < 0;
  const Job &x = at(a), &y = at(b);
  if (x.created != y.created) return x.created < y.created;
  return x.uid != y.uid ? x.uid < y.uid : x.name < y.name;
}

bool Session::task_before(TaskId a, TaskId b) const {
  int order = evaluate<FirstDecisive>(asked(Hook::task_order),
                                      [&](Plugin& p) { return p.task_order(a, b); });
  if (order != 0) return order < 0;
  const Task &x = at(a), &y = at(b);
  // Pods whose name ends in a number go by it, before those without one.
  if (x.index != y.index) return y.index < 0 || (x.index >= 0 && x.index < y.index);
  if (x.created != y.created) return x.created < y.created;
  return x.uid != y.uid ? x.uid < y.uid : x.name < y.name;
}

bool Session::job_valid(JobId job) const {
  return evaluate<Unanimous>(asked(Hook::job_valid), [&](Plugin& p) { return p.job_valid(job); });
}
bool Session::job_ready(JobId job) const {
  return evaluate<Unanimous>(asked(Hook::job_ready), [&](Plugin& p) { return p.job_ready(job); });
}
bool Session::job_pipelined(JobId job) const {
  return evaluate<TierVote>(asked(Hook::job_pipelined),
                            [&](Plugin& p) { return p.job_pipelined(job); });
}
bool Session::job_starving(JobId job) const {
  return evaluate<FirstTierUnanimous>(asked(Hook::job_starving),
                                      [&](Plugin& p) { return p.job_starving(job); });
}
bool Session::job_enqueueable(JobId job) const {
  if (start_rules_->must_enqueue(job)) return true;
  return evaluate<TierVote>(asked(Hook::job_enqueueable),
                            [&](Plugin& p) { return p.job_enqueueable(job); });
}
void Session::job_enqueued(JobId job) {
  start_rules_->enqueued(job);
  for (const std::vector<Plugin*>& tier : asked(Hook::job_enqueued))
    for (Plugin* plugin : tier) plugin->job_enqueued(job);
}
bool Session::overused(QueueId queue) const {
  return evaluate<AnyOne>(asked(Hook::overused), [&](Plugin& p) { return p.overused(queue); });
}
std::vector<QueueAccount> Session::accounts(QueueId queue) const {
  std::vector<QueueAccount> out;
  for (const PluginSlot& slot : plugins_)
    for (QueueAccount& one : slot.plugin->accounts(queue)) out.push_back(std::move(one));
  return out;
}
std::string Session::problem() const {
  for (const PluginSlot& slot : plugins_)
    if (std::string found = slot.plugin->problem(); !found.empty()) return found;
  return {};
}
bool Session::allocatable(QueueId queue, TaskId task) const {
  return evaluate<Unanimous>(asked(Hook::allocatable),
                             [&](Plugin& p) { return p.allocatable(queue, task); });
}
bool Session::preemptive(QueueId queue, TaskId task) const {
  return evaluate<Unanimous>(asked(Hook::preemptive),
                             [&](Plugin& p) { return p.preemptive(queue, task); });
}
std::vector<TaskId> Session::preemptable(TaskId preemptor,
                                         std::span<const TaskId> candidates) const {
  return evaluate<TierIntersection>(
      asked(Hook::preemptable), [&](Plugin& p) { return p.preemptable(preemptor, candidates); });
}
std::vector<TaskId> Session::reclaimable(TaskId reclaimer,
                                         std::span<const TaskId> candidates) const {
  return evaluate<TierIntersection>(
      asked(Hook::reclaimable), [&](Plugin& p) { return p.reclaimable(reclaimer, candidates); });
}

std::vector<TaskId> Session::unified_evictable(const Eviction& eviction,
                                               std::span<const TaskId> candidates) const {
  return evaluate<TierIntersection>(asked(Hook::unified_evictable), [&](Plugin& p) {
    return p.unified_evictable(eviction, candidates);
  });
}
std::vector<TaskId> Session::victim_tasks(std::span<const TaskId> running) const {
  std::vector<TaskId> victims = evaluate<TierUnion>(
      asked(Hook::victim_tasks), [&](Plugin& p) { return p.victim_tasks(running); });
  for (const std::vector<Plugin*>& tier : asked(Hook::victim_filter))
    for (Plugin* plugin : tier) plugin->victim_filter(victims);
  return victims;
}

bool Session::victim_before(TaskId x, TaskId y, TaskId preemptor) const {
  const Task &a = at(x), &b = at(y);
  if (a.job == b.job) return task_before(y, x);
  // A pod whose group is gone goes first.
  bool orphan_a = !takes_part(a.job), orphan_b = !takes_part(b.job);
  if (orphan_a || orphan_b) return orphan_a && orphan_b ? task_before(y, x) : orphan_a;
  QueueId queue_a = at(a.job).queue, queue_b = at(b.job).queue;
  if (queue_a == queue_b) return job_before(b.job, a.job);
  QueueId taker = at(at(preemptor).job).queue;
  int order = evaluate<FirstDecisive>(asked(Hook::victim_queue_order), [&](Plugin& p) {
    return p.victim_queue_order(queue_a, queue_b, taker);
  });
  return order != 0 ? order < 0 : queue_before(queue_b, queue_a);
}

ClassTable& Session::table(ClassId pods) {
  if (pods.index() >= tables_.size()) tables_.resize(cluster_.class_slots());
  std::unique_ptr<ClassTable>& slot = tables_[pods.index()];
  if (!slot) {
    if (held_tables_.size() < kMaxTables) {
      slot = std::make_unique<ClassTable>();
      held_tables_.push_back(pods);
    } else {
      ClassId& oldest =
          *std::min_element(held_tables_.begin(), held_tables_.end(), [&](ClassId a, ClassId b) {
            return tables_[a.index()]->last_used < tables_[b.index()]->last_used;
          });
      slot = std::move(tables_[oldest.index()]);
      oldest = pods;
    }
  }
  slot->last_used = stamp_;
  slot->refresh(cluster_, pods, rules_, reasons_);
  return *slot;
}

// ---- changes
// ----------------------------------------------------------------------------------------

void Session::set_phase(JobId job, Phase phase) {
  Job& edited = cluster_.edit(job);
  if (edited.phase == phase) return;
  edited.phase = phase;
  edited.inqueue_since = phase == Phase::inqueue ? now_ : WallTime{};
  notes(job).changed = true;
}

bool Session::place(TaskId task, TaskStatus status, NodeId node) {
  bool taken = reserve(task, node);
  if (!taken && status == TaskStatus::pipelined)
    taken = once_they_left(node, [&] { return reserve(task, node); });
  if (!taken) return false;
  cluster_.move(task, status, node);
  for (Plugin* plugin : listeners_) plugin->on_allocate(task);
  return true;
}

bool Session::reserve(TaskId task, NodeId node) {
  boost::container::small_vector<Plugin*, 4> reserved;
  for (const std::vector<Plugin*>& tier : asked(Hook::reserve)) {
    for (Plugin* plugin : tier) {
      if (!plugin->concerns(task)) continue;
      if (!plugin->reserve(task, node)) {
        for (Plugin* earlier : reserved) earlier->unreserve(task, node);
        return false;
      }
      reserved.push_back(plugin);
    }
  }
  return true;
}

void Session::unreserve(TaskId task, NodeId node) {
  for (const std::vector<Plugin*>& tier : asked(Hook::reserve))
    for (Plugin* plugin : tier)
      if (plugin->concerns(task)) plugin->unreserve(task, node);
}

void Session::unplace(TaskId task) {
  NodeId node = at(task).node;
  cluster_.move(task, TaskStatus::pending, {});
  for (Plugin* plugin : listeners_) plugin->on_release(task);
  unreserve(task, node);
}

void Session::release(TaskId task) {
  cluster_.move(task, TaskStatus::releasing, at(task).node);
  cluster_.count_evicted(task, +1);
  for (Plugin* plugin : listeners_) plugin->on_release(task);
}

void Session::unrelease(TaskId task, TaskStatus before) {
  cluster_.count_evicted(task, -1);
  cluster_.move(task, before, at(task).node);
  for (Plugin* plugin : listeners_) plugin->on_allocate(task);
}

void Session::remember(TaskId id) {
  Task& task = cluster_.edit(id);
  task.last_status = task.status;
  task.last_node = task.node;
  task.last_stamp = stamp_;
}

void Session::bind(TaskId id) {
  const Task& task = at(id);
  DCHECK(task.status == TaskStatus::allocated);
  NodeId node = task.node;
  cluster_.move(id, TaskStatus::binding, node);
  if (!cluster_.terms().at(task.labels).matched.empty()) cluster_.gain_room();  // of affinity
  decisions_.binds.push_back({id, node});
  BindPreparation preparation{id, {}, {}, {}};
  for (const std::vector<Plugin*>& tier : asked(Hook::prepare_bind))
    for (Plugin* plugin : tier)
      if (plugin->concerns(id)) plugin->prepare_bind(id, node, preparation);
  if (!preparation.empty()) decisions_.preparations.push_back(std::move(preparation));
}

void Session::evict(TaskId id, std::string_view reason, TaskId plain_pod) {
  const Task& task = at(id);
  DCHECK(task.status == TaskStatus::releasing);
  cluster_.edit(id).evicting = true;
  decisions_.evictions.push_back({id, std::string(reason)});
  if (plain_pod.valid()) {
    record_event(
        {}, id, false, "Preempted",
        "Preempted by pod " + at(plain_pod).uid + " on node " + cluster_.at(task.node).name);
    return;
  }
  record_event({}, id, true, "Evict", "Pod is evicted, because of " + std::string(reason));
  if (task.job.valid() && !at(task.job).implicit)
    record_event(task.job, {}, false, "Evict", std::string(reason));
}

void Session::allocate_now(TaskId task, NodeId node) {
  if (!place(task, TaskStatus::allocated, node)) return;
  keep(task);
  JobId job = at(task).job;
  if (!job_ready(job)) return;
  for (TaskId member : at(job).tasks)
    if (at(member).status == TaskStatus::allocated) bind(member);
}

// ---- fit errors
// -------------------------------------------------------------------------------------

Session::JobNotes& Session::notes(JobId job) {
  JobNotes& found = job_notes_[job.index()];
  if (found.stamp != stamp_) {
    found.stamp = stamp_;
    found.changed = found.unschedulable = false;
    found.first_failed = {};
    found.failed_roles.clear();
    found.fit_error.clear();
    found.obstacle = JobObstacle::none;
    found.job_error.clear();
  }
  return found;
}

const Session::JobNotes* Session::find_notes(JobId job) const {
  const JobNotes& found = job_notes_[job.index()];
  return found.stamp == stamp_ ? &found : nullptr;
}

void Session::set_fit_error(TaskId id, std::string text) {
  const Task& task = at(id);
  JobNotes& job = notes(task.job);
  if (!job.first_failed.valid()) job.first_failed = id;
  if (!role_failed(task)) job.failed_roles.push_back(failure_key(task));
  if (fit_texts_.empty() || fit_texts_.back() != text) fit_texts_.push_back(std::move(text));
  task_notes_[id.index()] = {stamp_, static_cast<std::uint32_t>(fit_texts_.size() - 1)};
}

const std::string* Session::fit_text(TaskId task) const {
  const TaskNote& note = task_notes_[task.index()];
  return note.stamp == stamp_ ? &fit_texts_[note.text] : nullptr;
}

bool Session::role_failed(JobId job, std::uint32_t key) const {
  const JobNotes* found = find_notes(job);
  return found != nullptr && std::find(found->failed_roles.begin(), found->failed_roles.end(),
                                       key) != found->failed_roles.end();
}

bool Session::may_continue(JobPart part) const {
  const JobId id = part.job;
  const Job& job = at(id);
  if (job.min_available == static_cast<std::int32_t>(job.tasks.size())) return false;
  if (part.sub_job >= 0) {
    const SubJob& sub = job.sub_jobs[static_cast<std::size_t>(part.sub_job)];
    return sub.min < sub.tasks;
  }
  if (job.min_available < job.role_min_total) {
    std::int32_t left = 0;
    for (std::size_t r = 0; r < job.roles.size(); ++r)
      if (!role_failed(id, static_cast<std::uint32_t>(r)))
        left += job.roles[r].count[static_cast<std::size_t>(TaskStatus::pending)];
    return job.ready() + left >= job.min_available;
  }
  for (std::size_t r = 0; r < job.roles.size(); ++r) {
    const Role& role = job.roles[r];
    if (role.min == 0 || !role_failed(id, static_cast<std::uint32_t>(r))) continue;
    std::int32_t held = role.pending_best_effort;
    for (TaskStatus s : {TaskStatus::bound, TaskStatus::binding, TaskStatus::running,
                         TaskStatus::allocated, TaskStatus::succeeded})
      held += role.count[static_cast<std::size_t>(s)];
    if (held < role.min) return false;
  }
  return true;
}

}  // namespace hekla::scheduler
