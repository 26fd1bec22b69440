#include "scheduler/loop/metrics.h"

namespace hekla::scheduler {

namespace {

const std::vector<double> kMilliseconds{0.1, 0.2, 0.5, 1,   2,    5,    10,  20,
                                        50,  100, 200, 500, 1000, 2500, 5000};

double ms(Nanos time) { return std::chrono::duration<double, std::milli>(time).count(); }

void report_queue_allocation(Metrics& metrics, const Cluster& cluster, const Queue& queue) {
  MetricLabels labels{{"queue_name", queue.name}};
  metrics.gauge("volcano_queue_allocated_milli_cpu",
                static_cast<double>(queue.written_allocated[kCpu]), labels);
  metrics.gauge("volcano_queue_allocated_memory_bytes",
                static_cast<double>(queue.written_allocated[kMemory]), labels);
  for (std::size_t d = kPods + 1u; d < cluster.dimensions().size(); ++d) {
    auto dim = static_cast<Dim>(d);
    if (queue.written_allocated.has(dim))
      metrics.gauge("volcano_queue_allocated_scalar_resources",
                    static_cast<double>(queue.written_allocated[dim]),
                    {{"queue_name", queue.name}, {"resource", cluster.dimensions().name(dim)}});
  }
  metrics.gauge("volcano_queue_weight", queue.weight, labels);
}

}  // namespace

void describe_metrics(Metrics& metrics) {
  metrics.describe("volcano_e2e_scheduling_latency_milliseconds", "End to end time of one session");
  metrics.describe("volcano_open_session_duration_milliseconds", "Time to open a session");
  metrics.describe("volcano_action_scheduling_latency_milliseconds",
                   "Time of an action in a session");
  metrics.describe("volcano_plugin_scheduling_latency_milliseconds",
                   "Time of a plugin at the begin and the end of a session");
  metrics.describe("volcano_task_scheduling_latency_milliseconds",
                   "Time from the creation of a pod to its placement");
  metrics.describe("volcano_schedule_attempts_total", "Attempts to place a pod, by result");
  metrics.describe("volcano_unschedule_job_count", "Jobs that are not ready");
  metrics.describe("volcano_pod_preemption_victims", "Pods evicted");
  metrics.describe("volcano_eviction_transactions_total",
                   "Evictions, by the action that made them");
  metrics.describe("volcano_e2e_job_scheduling_latency_milliseconds",
                   "Time from the creation of a group to the placement of its minimum");
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
    metrics.observe("volcano_task_scheduling_latency_milliseconds",
                    ms(now - cluster.at(bind.task).created), {}, kMilliseconds);
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
    metrics.count("volcano_pod_preemption_victims", {},
                  static_cast<double>(decisions.evictions.size()));
  for (const QueueDecision& queue : decisions.queues)
    report_queue_allocation(metrics, cluster, cluster.at(queue.queue));
  for (const GaugeDecision& gauge : decisions.gauges)
    metrics.gauge(std::string(gauge.name), gauge.value, {{"queue_name", gauge.queue}});
}

void report_bind(Metrics& metrics, bool succeeded) {
  metrics.count("volcano_schedule_attempts_total", {{"result", succeeded ? "scheduled" : "error"}});
}

}  // namespace hekla::scheduler
