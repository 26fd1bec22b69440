#include "scheduler/loop/metrics.h"

#include <set>

namespace hekla::scheduler {

namespace {

const std::vector<double> kMilliseconds{0.1, 0.2, 0.5, 1,   2,    5,    10,  20,
                                        50,  100, 200, 500, 1000, 2500, 5000};

double ms(Nanos time) { return std::chrono::duration<double, std::milli>(time).count(); }

constexpr const char* kShare = "volcano_job_share";
constexpr const char* kUnready = "volcano_unschedule_task_count";
constexpr const char* kDuration = "volcano_e2e_job_scheduling_duration";
constexpr const char* kStartTime = "volcano_e2e_job_scheduling_start_time";
constexpr const char* kLastTime = "volcano_e2e_job_scheduling_last_time";
constexpr const char* kRetries = "volcano_job_retry_counts";
constexpr const char* kTaskLatency = "volcano_task_scheduling_latency_milliseconds";
constexpr const char* kStage = "volcano_scheduling_stage_duration_milliseconds";

double seconds(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

void describe_metrics(Metrics& metrics) {
  metrics.describe("volcano_e2e_scheduling_latency_milliseconds", "End to end time of one session");
  metrics.describe("volcano_open_session_duration_milliseconds", "Time to open a session");
  metrics.describe("volcano_action_scheduling_latency_milliseconds",
                   "Time of an action in a session");
  metrics.describe("volcano_plugin_scheduling_latency_milliseconds",
                   "Time of a plugin at the begin and the end of a session");
  metrics.describe(kTaskLatency, "Time from the creation of a pod to a stage of its placement");
  metrics.describe(kStage, "Time that a stage takes for a pod");
  metrics.describe("volcano_schedule_attempts_total", "Attempts to place a pod, by result");
  metrics.describe("volcano_unschedule_job_count", "Jobs that are not ready");
  metrics.describe("volcano_pod_preemption_victims",
                   "Pods evicted by the last session that evicted any");
  metrics.describe("volcano_total_preemption_attempts",
                   "Nodes on which victims were found for a pod of their queue");
  metrics.describe("volcano_eviction_transactions_total",
                   "Evictions, by the action that made them");
  metrics.describe("volcano_e2e_job_scheduling_latency_milliseconds",
                   "Time from the creation of a group to the placement of its minimum");
  metrics.describe(kShare, "The largest part that a group holds of any of the cluster's resources");
  metrics.describe(kUnready, "Pods that a group lacks to be ready");
  metrics.describe(kDuration, "Milliseconds from the creation of a group to its last placement");
  metrics.describe(kStartTime, "When the group was created, in seconds");
  metrics.describe(kLastTime, "When a pod of the group was last placed, in seconds");
  metrics.describe(kRetries, "Sessions in which the group could not be made ready");
}

void report_session(Metrics& metrics, const Cluster& cluster, const Decisions& decisions,
                    WallTime now) {
  const SessionTimes& times = decisions.times;
  metrics.observe("volcano_e2e_scheduling_latency_milliseconds", ms(times.total), {},
                  kMilliseconds);
  metrics.observe("volcano_open_session_duration_milliseconds", ms(times.open), {}, kMilliseconds);
  for (const auto& [action, time] : times.actions)
    metrics.observe("volcano_action_scheduling_latency_milliseconds", ms(time),
                    {{"action", std::string(action)}}, kMilliseconds);
  for (const auto& [plugin, time] : times.plugin_open)
    metrics.observe("volcano_plugin_scheduling_latency_milliseconds", ms(time),
                    {{"plugin", std::string(plugin)}, {"OnSession", "OnSessionOpen"}},
                    kMilliseconds);
  for (const auto& [plugin, time] : times.plugin_close)
    metrics.observe("volcano_plugin_scheduling_latency_milliseconds", ms(time),
                    {{"plugin", std::string(plugin)}, {"OnSession", "OnSessionClose"}},
                    kMilliseconds);
  for (const BindDecision& bind : decisions.binds)
    metrics.observe(kTaskLatency, ms(now - cluster.at(bind.task).created), {{"stage", "Assumed"}},
                    kMilliseconds);
  for (const GroupDecision& group : decisions.groups)
    for (const GroupCondition& condition : cluster.at(group.job).conditions)
      if (condition.type == "Scheduled" && condition.at == now)
        metrics.observe("volcano_e2e_job_scheduling_latency_milliseconds",
                        ms(now - cluster.at(group.job).created), {}, kMilliseconds);
  for (const EvictDecision& evict : decisions.evictions)
    metrics.count("volcano_eviction_transactions_total", {{"action", evict.reason}});
  if (!decisions.pods.empty())
    metrics.count("volcano_schedule_attempts_total", {{"result", "unschedulable"}},
                  static_cast<double>(decisions.pods.size()));
  metrics.gauge("volcano_unschedule_job_count", static_cast<double>(decisions.unschedulable_jobs));
  if (!decisions.evictions.empty())
    metrics.gauge("volcano_pod_preemption_victims",
                  static_cast<double>(decisions.evictions.size()));
  if (decisions.preemption_attempts > 0)
    metrics.count("volcano_total_preemption_attempts", {},
                  static_cast<double>(decisions.preemption_attempts));
}

void JobMetrics::report(Metrics& metrics, const Session& session, const Decisions& decisions) {
  const Cluster& cluster = session.cluster();
  told_.resize(cluster.jobs().size());
  for (std::size_t i = 0; i < told_.size(); ++i) {
    const Job& job = cluster.jobs()[i];
    Told& told = told_[i];
    if (!told.uid.empty() &&
        (!job.has_group || job.uid != told.uid || cluster.at(job.queue).name != told.queue))
      take_back(metrics, told);
    if (!job.has_group || !session.takes_part(JobId(i)) || session.rests(JobId(i))) continue;
    if (told.uid.empty()) {
      told = {job.ns, job.name, cluster.at(job.queue).name, job.uid};
      metrics.gauge(kStartTime, seconds(job.created), told.labels());
    }
    if (double share = dominant_share(job.claimed, cluster.total()); share != told.share) {
      told.share = share;
      metrics.gauge(kShare, share, {{"job_ns", job.ns}, {"job_id", job.name}});
    }
    std::int32_t unready =
        job.is_ready() ? 0 : job.min_available - job.ready() - session.schedulable_tasks(JobId(i));
    if (unready != told.unready) {
      told.unready = unready;
      metrics.gauge(kUnready, unready, {{"job_id", job.name}});
    }
    if (job.is_ready() || job.phase == Phase::completed) continue;
    told.retried = true;
    metrics.count(kRetries, {{"job_id", job.name}});
  }
  JobId last;
  for (const BindDecision& bind : decisions.binds) {
    JobId id = cluster.at(bind.task).job;
    if (id == last || !id.valid() || !cluster.at(id).has_group) continue;
    last = id;
    const Told& told = told_[id.index()];
    metrics.gauge(kDuration, ms(session.now() - cluster.at(id).created), told.labels());
    metrics.gauge(kLastTime, seconds(session.now()), told.labels());
  }
}

void JobMetrics::take_back(Metrics& metrics, Told& told) {
  metrics.remove_gauge(kShare, {{"job_ns", told.ns}, {"job_id", told.name}});
  metrics.remove_gauge(kUnready, {{"job_id", told.name}});
  for (const char* name : {kDuration, kStartTime, kLastTime})
    metrics.remove_gauge(name, told.labels());
  if (told.retried) metrics.remove_counter(kRetries, {{"job_id", told.name}});
  told = Told();
}

void QueueMetrics::report(Metrics& metrics, const Cluster& cluster, const Decisions& decisions) {
  const std::vector<GaugeDecision>& now = decisions.gauges;
  auto name_of = [&](const GaugeDecision& one) -> const std::string& {
    return cluster.at(one.queue).name;
  };
  // Mostly the same figures come in the same order, and few have changed.
  bool same = now.size() == told_.size();
  for (std::size_t i = 0; same && i < now.size(); ++i)
    same = now[i].is_about_the_same(told_[i].gauge);
  if (same) {
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i].value == told_[i].gauge.value) continue;
      told_[i].gauge.value = now[i].value;
      metrics.gauge(std::string(now[i].name), now[i].value, told_[i].labels);
    }
    return;
  }
  std::set<std::pair<std::string_view, MetricLabels>> kept;
  std::vector<Told> next;
  for (const GaugeDecision& one : now) {
    MetricLabels labels{{"queue_name", name_of(one)}};
    if (one.resource >= 0)
      labels["resource"] = cluster.dimensions().name(static_cast<Dim>(one.resource));
    metrics.gauge(std::string(one.name), one.value, labels);
    kept.emplace(one.name, labels);
    next.push_back({one, std::move(labels)});
  }
  for (const Told& one : told_)
    if (!kept.contains({one.gauge.name, one.labels}))
      metrics.remove_gauge(std::string(one.gauge.name), one.labels);
  told_ = std::move(next);
}

void report_bind(Metrics& metrics, bool succeeded, const BindTimes& times) {
  metrics.count("volcano_schedule_attempts_total", {{"result", succeeded ? "scheduled" : "error"}});
  if (!succeeded) return;
  if (times.since_creation)
    metrics.observe(kTaskLatency, ms(*times.since_creation), {{"stage", "Bound"}}, kMilliseconds);
  if (times.preparing.count() > 0)
    metrics.observe(kStage, ms(times.preparing), {{"stage", "PreBind"}}, kMilliseconds);
  metrics.observe(kStage, ms(times.binding), {{"stage", "Bind"}}, kMilliseconds);
}

}  // namespace hekla::scheduler
