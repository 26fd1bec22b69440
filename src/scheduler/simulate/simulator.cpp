#include "scheduler/simulate/simulator.h"

#include <algorithm>
#include <queue>

#include "base/log.h"
#include "json/codec.h"
#include "scheduler/explain/explain.h"
#include "scheduler/session/invariants.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr Nanos kFirstTick = std::chrono::seconds(1);
constexpr Nanos kLongestTick = std::chrono::minutes(5);
// With nothing left to happen but time, this much of it may still change a decision.
constexpr Nanos kPatience = std::chrono::hours(2);
constexpr int kSessionsAtOnce = 64;
// So many of the jobs that never started are explained.
constexpr std::size_t kMostExplained = 100;
const WallTime kBegin{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z

class VirtualClock final : public Clock {
 public:
  WallTime wall() const override { return kBegin + elapsed; }
  MonoTime mono() const override { return MonoTime(elapsed); }
  Nanos elapsed{0};
};

struct LiveJob {
  model::PodGroup group;
  std::vector<model::Pod> pods;
  bool created = false;   // the pods are
  std::uint64_t run = 0;  // raised when a run is cut short, so that its end is void
  bool running = false;
};

struct Happening {
  Nanos at;
  bool arrival = false;
  std::size_t job = 0;
  std::uint64_t run = 0;
  bool operator>(const Happening& other) const {
    if (at != other.at) return at > other.at;
    // Who ends makes room for who comes.
    if (arrival != other.arrival) return arrival;
    return job > other.job;
  }
};

class Simulator {
 public:
  Simulator(const SimulationInput& input, std::string_view text, Configuration configuration,
            bool check_everything)
      : input_(input), text_(text), session_(cluster_), live_(input.jobs.size()) {
    session_.configure(std::move(configuration));
    invariants_ = invariants::expected_of(session_.configuration(), !check_everything);
  }

  SimulationResult run() {
    prepare();
    Nanos tick = kFirstTick;
    Nanos quiet_since{0};
    while (true) {
      bool waits = settle();
      sample();
      Nanos next = happenings_.empty() ? Nanos::max() : happenings_.top().at;
      if (!waits && happenings_.empty()) break;
      if (happenings_.empty() && clock_.elapsed - quiet_since > kPatience) break;
      if (waits && clock_.elapsed + tick < next) {
        clock_.elapsed += tick;
        tick = std::min(tick * 2, kLongestTick);
        continue;
      }
      tick = kFirstTick;
      clock_.elapsed = next;
      quiet_since = next;
      while (!happenings_.empty() && happenings_.top().at == next) {
        Happening one = happenings_.top();
        happenings_.pop();
        if (one.arrival)
          arrive(one.job);
        else if (live_[one.job].run == one.run)
          end(one.job);
      }
    }
    finish();
    return std::move(result_);
  }

 private:
  void prepare() {
    for (const model::PriorityClass& one : input_.priority_classes) cluster_.put(one);
    for (const auto& [kind, one] : input_.companions) cluster_.put(kind, one);
    for (const model::Node& one : input_.nodes) cluster_.put(one);
    for (const model::Queue& one : input_.queues) add_queue(one);
    for (const SimulatedJob& job : input_.jobs) need_queue(job.queue);
    add_running_pods();
    for (std::size_t d = 0; d < cluster_.dimensions().size(); ++d)
      if (d != kPods && cluster_.total()[static_cast<Dim>(d)] > 0) {
        dims_.push_back(static_cast<Dim>(d));
        result_.resources.push_back(cluster_.dimensions().name(static_cast<Dim>(d)));
        result_.capacity.push_back(units(static_cast<Dim>(d), cluster_.total()));
      }
    for (std::size_t i = 0; i < input_.jobs.size(); ++i) {
      const SimulatedJob& job = input_.jobs[i];
      std::int32_t pods = 0;
      for (const SimulatedRole& role : job.roles) pods += role.replicas;
      result_.jobs.push_back({job.ns, job.name, job.queue, pods, job.arrival});
      happenings_.push({job.arrival, true, i, 0});
      by_group_[job.ns + "/" + job.name] = i;
    }
  }

  void need_queue(const std::string& name) {
    if (queue_index_.contains(name)) return;
    model::Queue made;
    made.metadata.name = name;
    made.spec.weight = 1;
    add_queue(made);
  }

  void add_running_pods() {
    for (model::PodGroup group : input_.groups) {
      if (group.spec.queue.empty()) group.spec.queue = "default";
      need_queue(group.spec.queue);
      cluster_.put(group);
    }
    for (const model::Pod& pod : input_.pods) {
      standing_[pod.metadata.ns + "/" + pod.metadata.name] = pod;
      cluster_.put(pod);
    }
  }

  void add_queue(const model::Queue& queue) {
    if (queue_index_.contains(queue.metadata.name)) return;
    queue_index_[queue.metadata.name] = result_.queues.size();
    result_.queues.push_back(queue.metadata.name);
    weights_.push_back(std::max(queue.spec.weight, 1));
    queues_.push_back(queue);
    cluster_.put(queue);
  }

  static double units(Dim dim, const Resources& amount) {
    auto value = static_cast<double>(amount[dim]);
    if (dim == kMemory) return value / (1024.0 * 1024 * 1024);
    return value / 1000;
  }

  void arrive(std::size_t index) {
    const SimulatedJob& job = input_.jobs[index];
    LiveJob& live = live_[index];
    model::PodGroup& group = live.group;
    group.metadata.name = job.name;
    group.metadata.ns = job.ns;
    group.metadata.uid = "group-" + std::to_string(index);
    group.metadata.creationTimestamp.at = clock_.wall();
    group.metadata.annotations = job.annotations;
    group.metadata.labels = job.labels;
    group.spec.networkTopology = job.topology;
    group.spec.minMember = job.min_available;
    group.spec.queue = job.queue;
    group.spec.priorityClassName = job.priority_class;
    model::ResourceList sum;
    std::int32_t left = job.min_available;
    for (const SimulatedRole& role : job.roles) {
      if (role.min) group.spec.minTaskMember[role.name] = *role.min;
      if (role.partitions) group.spec.subGroupPolicy.push_back(sub_group(role));
      model::PodSpec spec = spec_of(role);
      std::int32_t counted = std::min(left, role.replicas);
      left -= counted;
      for (const auto& [name, quantity] : model::pod_requests(spec)) {
        std::int64_t milli = quantity.milli_value() * counted;
        if (auto found = sum.find(name); found != sum.end()) milli += found->second.milli_value();
        sum[name] = *model::Quantity::parse(std::to_string(milli) + "m");
      }
      make_pods(index, role, spec);
    }
    group.spec.minResources = std::move(sum);
    cluster_.put(group);
  }

  // As the job controller makes it of a task's partitionPolicy.
  static model::SubGroupPolicy sub_group(const SimulatedRole& role) {
    model::SubGroupPolicy policy;
    policy.name = role.name;
    policy.subGroupSize = role.partitions->partitionSize;
    policy.minSubGroups = role.partitions->minPartitions;
    policy.networkTopology = role.partitions->networkTopology;
    policy.labelSelector =
        json::Object{{"matchLabels", json::Object{{model::keys::task_spec, role.name}}}};
    policy.matchLabelKeys = {model::keys::partition_id};
    return policy;
  }

  // The API fills the priority in from the class.
  model::PodSpec spec_of(const SimulatedRole& role) const {
    model::PodSpec spec = role.spec;
    spec.schedulerName = "volcano";
    spec.nodeName.clear();
    if (!spec.priority)
      for (const model::PriorityClass& one : input_.priority_classes)
        if (spec.priorityClassName.empty() ? one.globalDefault
                                           : one.metadata.name == spec.priorityClassName)
          spec.priority = one.value;
    return spec;
  }

  void make_pods(std::size_t index, const SimulatedRole& role, const model::PodSpec& spec) {
    const SimulatedJob& job = input_.jobs[index];
    for (std::int32_t i = 0; i < role.replicas; ++i) {
      model::Pod pod;
      pod.metadata.ns = job.ns;
      pod.metadata.name = job.name + "-" + role.name + "-" + std::to_string(i);
      pod.metadata.uid = "pod-" + std::to_string(++uids_);
      pod.metadata.labels = role.labels;
      pod.metadata.labels[model::keys::task_spec] = role.name;
      if (role.partitions && role.partitions->partitionSize > 0)
        pod.metadata.labels[model::keys::partition_id] =
            std::to_string(i / role.partitions->partitionSize);
      pod.metadata.annotations = role.annotations;
      pod.metadata.annotations[model::keys::group_name] = job.name;
      pod.metadata.annotations[model::keys::task_spec] = role.name;
      pod.spec = spec;
      pod.status.phase = "Pending";
      live_[index].pods.push_back(std::move(pod));
    }
  }

  // Sessions at this moment until nothing more comes of them. True when something waits.
  bool settle() {
    bool waits = false;
    for (int i = 0; i < kSessionsAtOnce; ++i) {
      const Decisions& decisions = session_.run(clock_, "s" + std::to_string(++result_.sessions));
      waits = decisions.waiting;
      check(decisions);
      bool changed = create_pods(decisions);
      changed |= carry_out(decisions);
      if (!changed) break;
    }
    return waits;
  }

  // A broken one is a bug of the scheduler: the simulation goes on, and says so.
  void check(const Decisions& decisions) {
    for (std::string_view name : invariants_)
      if (std::string broken = invariants::check(name, cluster_, decisions); !broken.empty())
        if (++result_.broken_invariants[std::string(name) + ": " + broken] == 1)
          log_error("scheduler", "an invariant does not hold after session " + session_.uid(),
                    {{"invariant", std::string(name)}, {"problem", broken}});
  }

  bool create_pods(const Decisions& decisions) {
    bool created = false;
    for (const GroupDecision& decision : decisions.groups) {
      const Job& job = cluster_.at(decision.job);
      auto found = by_group_.find(job.ns + "/" + job.name);
      if (found == by_group_.end() || job.is_pending() || live_[found->second].created) continue;
      live_[found->second].created = created = true;
      for (model::Pod& pod : live_[found->second].pods) {
        pod.metadata.creationTimestamp.at = clock_.wall();
        cluster_.put(pod);
      }
    }
    return created;
  }

  bool carry_out(const Decisions& decisions) {
    std::vector<std::pair<std::size_t, std::string>> bound, evicted;
    std::vector<std::string> nodes;
    bool changed = false;
    for (const BindDecision& bind : decisions.binds) {
      bound.emplace_back(index_of_task(bind.task), cluster_.at(bind.task).name);
      nodes.push_back(cluster_.at(bind.node).name);
    }
    for (const EvictDecision& evict : decisions.evictions) {
      const Task& task = cluster_.at(evict.task);
      if (auto stood = standing_.find(task.ns + "/" + task.name); stood != standing_.end()) {
        cluster_.remove(model::Pod(stood->second));
        standing_.erase(stood);
        changed = true;
        continue;
      }
      evicted.emplace_back(index_of_task(evict.task), task.name);
    }
    for (std::size_t i = 0; i < bound.size(); ++i) {
      model::Pod& pod = pod_named(bound[i].first, bound[i].second);
      pod.spec.nodeName = nodes[i];
      pod.status.phase = "Running";
      cluster_.put(pod);
      begin_if_complete(bound[i].first);
    }
    for (const auto& [index, name] : evicted) restart_pod(index, name);
    return changed || !bound.empty() || !evicted.empty();
  }

  std::size_t index_of_task(TaskId task) const {
    const Job& job = cluster_.at(cluster_.at(task).job);
    return by_group_.at(job.ns + "/" + job.name);
  }
  model::Pod& pod_named(std::size_t index, const std::string& name) {
    std::vector<model::Pod>& pods = live_[index].pods;
    return *std::find_if(pods.begin(), pods.end(),
                         [&](const model::Pod& pod) { return pod.metadata.name == name; });
  }

  void begin_if_complete(std::size_t index) {
    LiveJob& live = live_[index];
    auto placed = std::count_if(live.pods.begin(), live.pods.end(),
                                [](const model::Pod& pod) { return !pod.spec.nodeName.empty(); });
    if (live.running || placed < input_.jobs[index].min_available) return;
    live.running = true;
    if (!result_.jobs[index].started()) result_.jobs[index].start = clock_.elapsed;
    happenings_.push({clock_.elapsed + input_.jobs[index].duration, false, index, live.run});
  }

  // An evicted pod comes again, and the run of its gang begins anew.
  void restart_pod(std::size_t index, const std::string& name) {
    LiveJob& live = live_[index];
    model::Pod& pod = pod_named(index, name);
    cluster_.remove(pod);
    pod.metadata.uid = "pod-" + std::to_string(++uids_);
    pod.spec.nodeName.clear();
    pod.status.phase = "Pending";
    cluster_.put(pod);
    ++result_.jobs[index].evictions;
    auto placed = std::count_if(live.pods.begin(), live.pods.end(),
                                [](const model::Pod& one) { return !one.spec.nodeName.empty(); });
    if (placed >= input_.jobs[index].min_available) return;
    live.running = false;
    ++live.run;
  }

  void end(std::size_t index) {
    LiveJob& live = live_[index];
    for (model::Pod& pod : live.pods) {
      pod.status.phase = "Succeeded";
      cluster_.put(pod);
    }
    result_.jobs[index].end = clock_.elapsed;
    result_.makespan = std::max(result_.makespan, clock_.elapsed);
    live.running = false;
    // The scheduler learns from the end before the objects go.
    settle();
    for (const model::Pod& pod : live.pods) cluster_.remove(pod);
    cluster_.remove(live.group);
    live.pods.clear();
  }

  void sample() {
    SimulationSample now;
    now.at = clock_.elapsed;
    now.used.assign(dims_.size(), std::vector<double>(result_.queues.size(), 0.0));
    for (const Job& job : cluster_.jobs()) {
      if (!job.live || !job.has_group) continue;
      std::size_t queue = queue_index_.at(cluster_.at(job.queue).name);
      for (std::size_t r = 0; r < dims_.size(); ++r)
        now.used[r][queue] += units(dims_[r], job.allocated);
      if (!by_group_.contains(job.ns + "/" + job.name)) continue;
      ++(job.is_ready() && !job.tasks.empty() ? now.running : now.waiting);
    }
    if (!result_.samples.empty() && result_.samples.back().at == now.at)
      result_.samples.back() = std::move(now);
    else
      result_.samples.push_back(std::move(now));
  }

  // The objects as they stand at the end, for hekla explain's words on who never started.
  World world() {
    World out;
    out.nodes = input_.nodes;
    out.priority_classes = input_.priority_classes;
    out.companions = input_.companions;
    out.queues = queues_;
    out.groups = input_.groups;
    for (const auto& [name, pod] : standing_) out.pods.push_back(pod);
    for (std::size_t i = 0; i < live_.size(); ++i) {
      JobId id = cluster_.find_job(input_.jobs[i].ns, input_.jobs[i].name);
      if (!id.valid() || !cluster_.at(id).has_group) continue;
      out.groups.push_back(live_[i].group);
      out.groups.back().status.phase = std::string(name_of(cluster_.at(id).phase));
      if (live_[i].created)
        out.pods.insert(out.pods.end(), live_[i].pods.begin(), live_[i].pods.end());
    }
    out.configuration = text_;
    out.now = clock_.wall();
    return out;
  }

  void explain_who_never_started() {
    std::vector<std::size_t> waiting;
    std::vector<std::pair<std::string, std::string>> names;
    for (std::size_t i = 0; i < live_.size() && waiting.size() < kMostExplained; ++i) {
      if (result_.jobs[i].started()) continue;
      waiting.push_back(i);
      names.emplace_back(input_.jobs[i].ns, input_.jobs[i].name);
    }
    if (waiting.empty()) return;
    Result<std::vector<Explanation>> made = explain_groups(world(), names);
    for (std::size_t i = 0; made && i < waiting.size(); ++i)
      result_.jobs[waiting[i]].waits = (*made)[i].summary;
  }

  void finish() {
    explain_who_never_started();
    integrate();
    for (std::size_t q = 0; q < result_.queues.size(); ++q) figure(q);
    double sum = 0, squares = 0;
    std::size_t count = 0;
    for (const QueueFigures& one : result_.figures) {
      if (one.jobs == 0) continue;
      double share = one.used_hours / one.weight;
      sum += share;
      squares += share * share;
      ++count;
    }
    if (count > 0 && squares > 0)
      result_.fairness = sum * sum / (static_cast<double>(count) * squares);
  }

  void integrate() {
    std::vector<double> total(dims_.size(), 0.0);
    hours_.assign(result_.queues.size(), 0.0);
    for (std::size_t i = 0; i + 1 < result_.samples.size(); ++i) {
      Nanos span = std::min(result_.samples[i + 1].at, result_.makespan) -
                   std::min(result_.samples[i].at, result_.makespan);
      double hours = std::chrono::duration<double, std::ratio<3600>>(span).count();
      for (std::size_t r = 0; r < dims_.size(); ++r)
        for (std::size_t q = 0; q < result_.queues.size(); ++q) {
          total[r] += result_.samples[i].used[r][q] * hours;
          if (r == 0) hours_[q] += result_.samples[i].used[r][q] * hours;
        }
    }
    double all = std::chrono::duration<double, std::ratio<3600>>(result_.makespan).count();
    for (std::size_t r = 0; r < dims_.size(); ++r)
      result_.utilisation.push_back(all > 0 ? total[r] / (all * result_.capacity[r]) : 0);
  }

  void figure(std::size_t queue) {
    QueueFigures out{result_.queues[queue], static_cast<double>(weights_[queue])};
    out.used_hours = hours_[queue];
    std::vector<Nanos> waits;
    for (const SimulatedOutcome& job : result_.jobs) {
      if (job.queue != out.name) continue;
      ++out.jobs;
      if (job.started()) waits.push_back(job.wait());
    }
    out.started = waits.size();
    if (!waits.empty()) {
      std::sort(waits.begin(), waits.end());
      Nanos sum{0};
      for (Nanos wait : waits) sum += wait;
      out.mean_wait = sum / static_cast<std::int64_t>(waits.size());
      out.median_wait = waits[waits.size() / 2];
      out.p95_wait = waits[std::min(waits.size() - 1, waits.size() * 95 / 100)];
      out.longest_wait = waits.back();
    }
    result_.figures.push_back(std::move(out));
  }

  const SimulationInput& input_;
  std::string text_;  // of the configuration
  VirtualClock clock_;
  Cluster cluster_;
  Session session_;
  std::vector<LiveJob> live_;
  std::map<std::string, model::Pod> standing_;  // since before the beginning
  std::vector<std::string_view> invariants_;
  std::map<std::string, std::size_t> by_group_, queue_index_;
  std::vector<std::int32_t> weights_;
  std::vector<model::Queue> queues_;
  std::vector<Dim> dims_;
  std::vector<double> hours_;
  std::uint64_t uids_ = 0;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
  SimulationResult result_;
};

}  // namespace

Result<SimulationResult> simulate(const SimulationInput& input, std::string_view configuration,
                                  bool check_everything) {
  if (input.nodes.empty()) return fail(Code::invalid, "the cluster has no nodes");
  if (input.jobs.empty()) return fail(Code::invalid, "the workload has no jobs");
  Configuration parsed = TRY(
      parse_configuration(configuration.empty() ? helm_default_configuration() : configuration));
  for (const std::string& warning : parsed.warnings)
    log_warn("scheduler", "in the configuration, " + warning);
  return Simulator(input, configuration, std::move(parsed), check_everything).run();
}

}  // namespace hekla::scheduler
