#include "scheduler/loop/scheduler.h"

#include <algorithm>
#include <map>

#include "base/log.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "scheduler/loop/companion_resources.h"
#include "scheduler/loop/configuration_source.h"
#include "scheduler/loop/held_conditions.h"
#include "scheduler/loop/metrics.h"
#include "scheduler/loop/node_load_source.h"
#include "scheduler/loop/recording.h"
#include "scheduler/loop/told_event.h"
#include "scheduler/loop/writes.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

// Small enough that the first bindings are being written while the last are still prepared.
constexpr std::size_t kBatchLimit = 256;
constexpr std::string_view kFailed = "FailedScheduling";
// After a failed write the next attempt waits this long, twice as long after each further failure.
constexpr Nanos kFirstRetry = std::chrono::milliseconds(200);
constexpr Nanos kLongestRetry = std::chrono::seconds(10);

// What a write was for, to settle its result by.
struct Sent {
  enum class Kind { bind, group, pod, queue, evict } kind = Kind::bind;
  TaskId task;
  JobId job;
  QueueId queue;
  std::string uid;
  std::string node;
  MonoTime decided{}, prepared{};  // of a binding
};

// Belongs to its client's executor.
struct Events {
  kube::Client& client;
  std::map<std::string, std::unique_ptr<kube::EventRecorder>> recorders = {};

  void record(const std::vector<ToldEvent>& events) {
    for (const ToldEvent& event : events) {
      std::unique_ptr<kube::EventRecorder>& recorder = recorders[event.component];
      if (!recorder) recorder = std::make_unique<kube::EventRecorder>(client, event.component);
      recorder->record(event.target, event.type, event.reason, event.message);
    }
  }
};

ClusterOptions cluster_options(const Options& options) {
  return {options.scheduler_names, options.single_pod_schedulers, options.default_queue};
}

}  // namespace

struct Scheduler::State : std::enable_shared_from_this<State> {
  State(Options given, kube::Client& c, Metrics* m)
      : options(std::move(given)),
        client(c),
        metrics(m),
        cluster(cluster_options(options)),
        session(cluster),
        recording(options.record, cluster_options(options)),
        loads(c.executor(), options.http, &c,
              [this](std::string_view name) { return size_of(name); }),
        nodes(c, kube::resources::nodes),
        pods(c, kube::resources::pods),
        groups(c, kube::resources::pod_groups),
        queues(c, kube::resources::queues),
        priority_classes(c, kube::resources::priority_classes) {
    session.look_again_after(kLookAgain);
  }

  // Of a node, for those who measure its load.
  std::optional<NodeLoadSource::Capacity> size_of(std::string_view name) const {
    NodeId id = cluster.find_node(name);
    if (!id.valid()) return std::nullopt;
    const Resources& capacity = cluster.at(id).shape.capacity;
    return NodeLoadSource::Capacity{capacity[kCpu], capacity[kMemory]};
  }

  // What of the text has no effect.
  Result<std::vector<std::string>> configure(std::string_view text) {
    Configuration configuration = TRY(parse_configuration(text));
    std::vector<std::string> without_effect = configuration.warnings;
    for (const std::string& name : configuration.unknown_plugins)
      without_effect.push_back("plugin " + name + " does not exist and is skipped");
    for (const std::string& warning : without_effect)
      log_warn("scheduler", "in the configuration, " + warning);
    TRY(loads.configure(configuration.metrics));
    session.configure(std::move(configuration));
    recording.configuration(text);
    return without_effect;
  }

  Result<std::vector<std::string>> reconfigure(std::string_view text) {
    std::vector<std::string> without_effect = TRY(configure(text));
    note(Impact::decide);
    arm();
    return without_effect;
  }

  // A text given once stays; anything else is watched.
  void follow_configuration() {
    auto use = [this](const std::string& text) { return reconfigure(text); };
    if (options.read_configuration)
      source.emplace(client, options.read_configuration, options.configuration_interval, use);
    else if (options.configuration.empty())
      source.emplace(client, options.configuration_map, options.configuration_map_metadata, use);
    if (source) source->start([this] { settled(); });
  }

  void start() {
    session.use({&loads, options.http});
    follow_configuration();
    follow(nodes);
    follow(priority_classes);
    follow(queues);
    follow(groups);
    follow(pods);
    follow_companions();
    if (metrics != nullptr) {
      describe_metrics(*metrics);
      session.collect_gauges(true);
    }
  }

  template <class T>
  void follow(kube::Informer<T>& informer) {
    using Ref = typename kube::Informer<T>::Ref;
    informer.on_change(
        [this, kind = informer.resource().kind](const Ref& before, const Ref& after) {
          // The same name may come back as another object within one step of the watch.
          if (before && (!after || before->metadata.uid != after->metadata.uid)) {
            recording.gone(kind, *before);
            note(cluster.remove(*before));
          }
          if (!after) return;
          recording.put(kind, *after);
          note(cluster.put(*after));
        });
    informer.on_settled([this] { settled(); });
    informer.start();
  }

  void follow_companions() {
    for (const kube::Resource& resource : companion_resources()) {
      companions.push_back(std::make_unique<kube::Informer<Companion>>(client, resource));
      kube::Informer<Companion>& informer = *companions.back();
      CompanionKind kind = *companion_kind(resource.kind);
      informer.on_change([this, kind, word = resource.kind](const auto& before, const auto& after) {
        if (before && (!after || before->metadata.uid != after->metadata.uid)) {
          recording.gone(word, *before);
          note_companion(kind, cluster.remove(kind, *before));
        }
        if (!after) return;
        recording.put(word, *after);
        note_companion(kind, cluster.put(kind, *after));
      });
      informer.on_settled([this] { settled(); });
      informer.start();
    }
    // A cluster need not have all of these kinds, nor let this scheduler see them.
    client.executor().post_after(options.companion_wait, [weak = weak_from_this()] {
      auto self = weak.lock();
      if (!self) return;
      for (const auto& informer : self->companions)
        if (!informer->synced())
          log_warn("scheduler", "these objects cannot be listed; going on without them",
                   {{"resource", informer->resource().plural}});
      self->companions_awaited = false;
      self->settled();
    });
  }

  // Kinds that are written all the time and that one plugin reads are nobody's business without it.
  void note_companion(CompanionKind kind, Impact impact) {
    std::string_view reader = kind == CompanionKind::quota               ? "resourcequota"
                              : kind == CompanionKind::disruption_budget ? "pdb"
                              : kind == CompanionKind::numa_topology     ? "numa-aware"
                                                                         : "";
    if (reader.empty() || session.configuration().has_plugin(reader)) note(impact);
  }

  bool synced() const {
    if (source && !source->ready()) return false;
    if (companions_awaited && !std::all_of(companions.begin(), companions.end(),
                                           [](const auto& one) { return one->synced(); }))
      return false;
    // Deleted CRDs are no reason to leave plain pods waiting.
    return nodes.synced() && pods.synced() && (groups.synced() || groups.absent()) &&
           (queues.synced() || queues.absent()) && priority_classes.synced();
  }

  // Pods wait, where Queues are not served, in queues that only this scheduler knows.
  void mind_queues() {
    if (queues.absent() && own_queues.empty()) {
      for (const std::string& name : {std::string("root"), options.default_queue}) {
        model::Queue queue;
        queue.metadata.name = name;
        queue.metadata.uid = "own-" + name;
        queue.spec.weight = 1;
        queue.status.state = "Open";
        own_queues.push_back(queue);
        recording.put("Queue", queue);
        note(cluster.put(queue));
      }
    } else if (!queues.absent()) {
      for (const model::Queue& queue : std::exchange(own_queues, {}))
        if (!queues.get({"", queue.metadata.name})) {
          recording.gone("Queue", queue);
          note(cluster.remove(queue));
        }
      if (running && !making_queues &&
          (!queues.get({"", "root"}) || !queues.get({"", options.default_queue}))) {
        making_queues = true;
        client.executor().post_after(options.period, [weak = weak_from_this()] {
          if (auto self = weak.lock()) self->make_queues();
        });
      }
    }
  }

  void settled() {
    if (!synced()) return;
    if (!running) {
      running = making_queues = true;
      make_queues();
      note(Impact::decide);
    }
    mind_queues();
    arm();
  }

  void note(Impact impact) { pending = std::max(pending, impact); }

  // Plans the next session as early as what has come in deserves. A later plan is overtaken, not
  // cancelled: its number is out of date when it fires.
  void arm() {
    if (!running || pending == Impact::none) return;
    MonoTime now = client.executor().clock().mono();
    MonoTime when = now + options.report_delay;
    // Back to back only as long as sessions are short: at most half of the time goes into them.
    if (pending == Impact::decide) when = std::max(now, last_end + last_duration);
    plan(when, now);
  }

  void plan(MonoTime when, MonoTime now) {
    if (planned && planned_at <= when) return;
    planned = true;
    planned_at = when;
    auto fire = [weak = weak_from_this(), number = ++plan_number] {
      auto self = weak.lock();
      if (self && self->planned && self->plan_number == number) self->run_session();
    };
    if (when <= now)
      client.executor().post(std::move(fire));
    else
      client.executor().post_after(when - now, std::move(fire));
  }

  void run_session() {
    planned = false;
    pending = Impact::none;
    const Clock& clock = client.executor().clock();
    MonoTime begin = clock.mono();
    const Decisions& decisions = session.run(clock, uuid(options.rng ? *options.rng : real_rng()));
    ++sessions;
    if (std::string found = session.problem(); found != problem) {
      if (!found.empty()) log_warn("scheduler", found);
      problem = std::move(found);
    }
    recording.session(session.uid(), session.now(), cluster, decisions);
    if (metrics != nullptr) {
      report_session(*metrics, cluster, decisions, session.now());
      job_metrics.report(*metrics, session, decisions);
      queue_metrics.report(*metrics, cluster, decisions);
    }
    carry_out(decisions, clock.wall());
    last_end = clock.mono();
    last_duration = last_end - begin;
    if (decisions.waiting) plan(last_end + options.period, last_end);
  }

  // ---- writes ----

  void carry_out(const Decisions& decisions, WallTime now) {
    auto preparation = decisions.preparations.begin();
    const MonoTime decided = client.executor().clock().mono();
    for (const BindDecision& bind : decisions.binds) {
      bool prepared = preparation != decisions.preparations.end() && preparation->task == bind.task;
      const BindPreparation* with = prepared ? &*preparation++ : nullptr;
      kube::Write write = bind_write(cluster, bind, with);
      Sent sent{Sent::Kind::bind,           bind.task, {},     {}, cluster.at(bind.task).uid,
                cluster.at(bind.node).name, decided,   decided};
      if (with != nullptr && (!with->claims.empty() || !with->devices.empty()))
        bind_after_claims(*with, std::move(write), std::move(sent));
      else
        add(std::move(write), std::move(sent));
    }
    for (const EvictDecision& evict : decisions.evictions) {
      const std::string& uid = cluster.at(evict.task).uid;
      add(evicted_condition_write(cluster, evict, now),
          {Sent::Kind::pod, evict.task, {}, {}, uid, {}});
      add(evict_write(cluster, evict), {Sent::Kind::evict, evict.task, {}, {}, uid, {}});
    }
    for (const GroupDecision& group : decisions.groups) {
      ++cluster.edit(group.job).status_writes;
      add(group_write(cluster, group.job),
          {Sent::Kind::group, {}, group.job, {}, cluster.at(group.job).uid, {}});
    }
    for (const PodConditionDecision& pod : decisions.pods)
      if (conditions.on())
        conditions.hold(cluster, pod, decided);
      else
        write_condition(pod, now);
    look_at_conditions();
    for (const QueueDecision& queue : decisions.queues)
      add(queue_write(cluster, queue.queue), {Sent::Kind::queue, {}, {}, queue.queue, {}, {}});
    flush();
    for (const EventDecision& event : decisions.events) {
      const std::string type = event.warning ? "Warning" : "Normal";
      if (event.task.valid() && conditions.on() && event.reason == kFailed) continue;
      if (event.task.valid())
        tell_of(event.task, type, event.reason, event.message);
      else
        tell({options.scheduler_names.front(), target_of(cluster.at(event.job)), type, event.reason,
              event.message});
    }
  }

  void write_condition(const PodConditionDecision& pod, WallTime now) {
    add(pod_condition_write(cluster, pod, now),
        {Sent::Kind::pod, pod.task, {}, {}, cluster.at(pod.task).uid, {}});
  }

  // Writes those that were held long enough, and comes back for the others.
  void look_at_conditions() {
    const Clock& clock = client.executor().clock();
    for (const PodConditionDecision& pod : conditions.take_due(cluster, clock.mono())) {
      write_condition(pod, clock.wall());
      tell_of(pod.task, "Warning", kFailed, pod.message);
    }
    std::optional<MonoTime> next = conditions.next();
    if (!next || (conditions_look && *conditions_look <= *next)) return;
    conditions_look = next;
    client.executor().post_after(*next - clock.mono(), [weak = weak_from_this(), when = *next] {
      auto self = weak.lock();
      if (!self || self->conditions_look != when) return;
      self->conditions_look.reset();
      self->look_at_conditions();
      self->flush();
    });
  }

  // The pod is bound once its claims are; if one of them is not, it is placed again.
  void bind_after_claims(const BindPreparation& with, kube::Write write, Sent sent) {
    std::vector<kube::Write> claims;
    for (const auto& claim : with.claims) claims.push_back(claim_write(claim, sent.node));
    for (const auto& claim : with.devices) {
      const Companion* known =
          cluster.companions().find(CompanionKind::resource_claim, claim.ns + "/" + claim.name);
      for (kube::Write& one : device_claim_writes(
               claim, known == nullptr ? std::vector<std::string>() : known->metadata.finalizers))
        claims.push_back(std::move(one));
    }
    client.batch(std::move(claims),
                 [weak = weak_from_this(), write = std::move(write),
                  sent = std::move(sent)](const std::vector<kube::WriteResult>& results) mutable {
                   auto self = weak.lock();
                   if (!self) return;
                   for (const kube::WriteResult& result : results)
                     if (!result) {
                       self->settle(sent, std::unexpected(result.error()));
                       return self->arm();
                     }
                   sent.prepared = self->client.executor().clock().mono();
                   self->add(std::move(write), std::move(sent));
                   self->flush();
                 });
  }

  void add(kube::Write write, Sent sent) {
    writes.push_back(std::move(write));
    purposes.push_back(std::move(sent));
    if (writes.size() == kBatchLimit) flush();
  }

  void flush() {
    if (writes.empty()) return;
    client.batch(std::move(writes), [weak = weak_from_this(), sent = std::move(purposes)](
                                        std::vector<kube::WriteResult> results) {
      auto self = weak.lock();
      if (!self) return;
      self->failed = false;
      for (std::size_t i = 0; i < results.size() && i < sent.size(); ++i)
        self->settle(sent[i], results[i]);
      self->retry_delay =
          self->failed ? std::min(self->retry_delay * 2, kLongestRetry) : kFirstRetry;
      self->arm();
    });
    writes = {};
    purposes = {};
  }

  void settle(const Sent& sent, const kube::WriteResult& result) {
    switch (sent.kind) {
      case Sent::Kind::bind:
        return settle_bind(sent, result);
      case Sent::Kind::group:
        return settle_group(sent, result);
      case Sent::Kind::pod:
        if (!result && result.error().code != Code::not_found && is_current(sent)) {
          cluster.edit(sent.task).condition_digest = 0;
          conditions.forget(sent.task);
        }
        return;
      case Sent::Kind::queue:
        if (!result && result.error().code != Code::not_found) {
          cluster.edit(sent.queue).status_known = false;
          retry_later();
        }
        return;
      case Sent::Kind::evict:
        if (result || result.error().code == Code::not_found) return;
        log_warn("scheduler", "a pod was not evicted", {{"error", result.error().message}});
        cluster.evict_failed(sent.task, sent.uid);
        retry_later();
        return;
    }
  }

  bool is_current(const Sent& sent) const {
    return sent.task.index() < cluster.tasks().size() && cluster.at(sent.task).live &&
           cluster.at(sent.task).uid == sent.uid;
  }

  void settle_bind(const Sent& sent, const kube::WriteResult& result) {
    if (metrics != nullptr) {
      const Clock& clock = client.executor().clock();
      BindTimes times{sent.prepared - sent.decided, clock.mono() - sent.prepared, {}};
      if (is_current(sent)) times.since_creation = clock.wall() - cluster.at(sent.task).created;
      report_bind(*metrics, result.has_value(), times);
    }
    if (!is_current(sent)) return;
    const Task& task = cluster.at(sent.task);
    if (result) {
      tell_of(sent.task, "Normal", "Scheduled",
              "Successfully assigned " + task.ns + "/" + task.name + " to " + sent.node);
      recording.bound(task, true);
      cluster.bind_succeeded(sent.task, sent.uid);
      note(Impact::report);
      return;
    }
    log_warn("scheduler", "a pod was not bound and will be placed again",
             {{"pod", task.ns + "/" + task.name},
              {"node", sent.node},
              {"error", result.error().message}});
    recording.bound(task, false);
    cluster.bind_failed(sent.task, sent.uid);
    if (result.error().code != Code::not_found) {
      PodConditionDecision failed{sent.task, "SchedulerError", result.error().message, {}};
      cluster.edit(sent.task).condition_digest = 0;
      if (conditions.on()) {
        conditions.hold(cluster, std::move(failed), client.executor().clock().mono());
      } else {
        tell_of(sent.task, "Warning", kFailed, failed.message);
        write_condition(failed, client.executor().clock().wall());
      }
      look_at_conditions();
      flush();
    }
    retry_later();
  }

  void settle_group(const Sent& sent, const kube::WriteResult& result) {
    if (sent.job.index() >= cluster.jobs().size()) return;
    Job& job = cluster.edit(sent.job);
    if (!job.live || job.uid != sent.uid) return;
    --job.status_writes;
    recording.status_written(job, result.has_value() || result.error().code == Code::not_found);
    if (result) {
      if (*result) groups.overlay(*result);
    } else if (result.error().code != Code::not_found) {
      job.status_unwritten = true;
      retry_later();
    }
  }

  void retry_later() {
    MonoTime now = client.executor().clock().mono();
    plan(now + retry_delay, now);
    failed = true;
  }

  void make_queues() {
    std::vector<kube::Write> missing;
    if (!queues.get({"", "root"})) missing.push_back(create_queue_write("root", false));
    if (!queues.get({"", options.default_queue}))
      missing.push_back(create_queue_write(options.default_queue, true));
    making_queues = !missing.empty() && !queues.absent();
    if (!making_queues) return;
    client.batch(std::move(missing),
                 [weak = weak_from_this()](const std::vector<kube::WriteResult>& results) {
                   auto self = weak.lock();
                   if (!self) return;
                   bool failed =
                       std::any_of(results.begin(), results.end(), [](const kube::WriteResult& r) {
                         return !r && r.error().code != Code::already_exists;
                       });
                   self->making_queues = failed;
                   if (!failed) return;
                   self->client.executor().post_after(self->options.period, [weak] {
                     if (auto again = weak.lock()) again->make_queues();
                   });
                 });
  }

  void tell_of(TaskId id, const std::string& type, std::string_view reason,
               const std::string& message) {
    const Task& task = cluster.at(id);
    ToldEvent event{task.scheduler_name, target_of(task), type, std::string(reason), message};
    if (options.events_by_gang && task.job.valid() && !cluster.at(task.job).implicit)
      event.gang = target_of(cluster.at(task.job));
    tell(std::move(event));
  }

  // Those of one step of this loop go over together, if they are written elsewhere.
  void tell(ToldEvent event) {
    const bool is_own = &events->client == &client;
    if (is_own && !options.events_by_gang) return events->record({std::move(event)});
    untold.push_back(std::move(event));
    if (untold.size() > 1) return;
    client.executor().post([weak = weak_from_this(), is_own] {
      auto self = weak.lock();
      if (!self) return;
      std::vector<ToldEvent> told = std::exchange(self->untold, {});
      if (self->options.events_by_gang) told = told_by_gang(std::move(told));
      if (is_own) return self->events->record(told);
      self->events->client.executor().post(
          [to = self->events, told = std::move(told)] { to->record(told); });
    });
  }

  Options options;
  kube::Client& client;
  Metrics* metrics;
  JobMetrics job_metrics;
  QueueMetrics queue_metrics;
  Cluster cluster;
  Session session;
  Recording recording;
  NodeLoadSource loads;
  kube::Informer<model::Node> nodes;
  kube::Informer<model::Pod> pods;
  kube::Informer<model::PodGroup> groups;
  kube::Informer<model::Queue> queues;
  std::vector<model::Queue> own_queues;  // while there are no others
  bool making_queues = false;            // those that every cluster has
  kube::Informer<model::PriorityClass> priority_classes;
  std::vector<std::unique_ptr<kube::Informer<Companion>>> companions;
  bool companions_awaited = true;
  std::optional<ConfigurationSource> source;
  std::shared_ptr<Events> events =
      std::make_shared<Events>(Events{options.event_client ? *options.event_client : client});
  std::vector<ToldEvent> untold;
  HeldConditions conditions{options.condition_delay};
  std::optional<MonoTime> conditions_look;  // planned

  bool running = false;
  Impact pending = Impact::none;
  bool planned = false;
  MonoTime planned_at{};
  std::uint64_t plan_number = 0;
  MonoTime last_end{};
  Nanos last_duration{};
  std::uint64_t sessions = 0;
  std::string problem;  // of the last session
  Nanos retry_delay = kFirstRetry;
  bool failed = false;  // a write of the batch being settled
  std::vector<kube::Write> writes;
  std::vector<Sent> purposes;
};

Scheduler::Scheduler(std::shared_ptr<State> state) : state_(std::move(state)) {}
Scheduler::~Scheduler() = default;

Result<std::unique_ptr<Scheduler>> Scheduler::create(Options options, kube::Client& client,
                                                     Metrics* metrics) {
  auto state = std::make_shared<State>(std::move(options), client, metrics);
  if (state->options.read_configuration)
    TRY(state->configure(TRY(state->options.read_configuration())));
  else if (const std::string& given = state->options.configuration; !given.empty())
    TRY(state->configure(given));
  else
    TRY(state->configure(helm_default_configuration()));
  return std::make_unique<Scheduler>(std::move(state));
}

void Scheduler::start() { state_->start(); }

Result<void> Scheduler::set_configuration(std::string_view text) {
  TRY(state_->reconfigure(text));
  return {};
}

std::uint64_t Scheduler::sessions() const { return state_->sessions; }

}  // namespace hekla::scheduler
