#include "controllers/volcano/phase_metrics.h"

#include <array>
#include <cmath>

namespace hekla::controllers {
namespace {

// The phase and how it stands in the metric's name.
constexpr std::array<std::pair<const char*, const char*>, 5> kGroupPhases = {{
    {"Inqueue", "inqueue"},
    {"Pending", "pending"},
    {"Running", "running"},
    {"Unknown", "unknown"},
    {"Completed", "completed"},
}};

const std::string kCompleted = "volcano_job_completed_phase_count";
const std::string kFailed = "volcano_job_failed_phase_count";
const std::string kFlowSucceeded = "volcano_jobflow_succeed_phase_count";
const std::string kFlowFailed = "volcano_jobflow_failed_phase_count";
const std::string kPodCreation = "volcano_controller_job_to_pod_creation_latency_milliseconds";

std::string group_metric(const char* phase) {
  return std::string("volcano_queue_pod_group_") + phase + "_count";
}

MetricLabels labels_of(const model::VcJob& job) {
  return {{"job_name", job.metadata.ns + "/" + job.metadata.name}, {"queue_name", job.spec.queue}};
}

std::string phase_of(const AnyObject* flow) {
  return flow ? std::string(json::string_at(flow->status, {"state", "phase"})) : std::string();
}

// Thirty from 50 ms to a minute, each the same factor above the last.
std::vector<double> creation_buckets() {
  std::vector<double> buckets;
  for (int i = 0; i < 30; ++i) buckets.push_back(50 * std::pow(60000.0 / 50, i / 29.0));
  return buckets;
}

}  // namespace

PhaseMetrics::PhaseMetrics(Caches& caches, bool with_flows, Metrics& metrics)
    : caches_(caches), metrics_(metrics) {
  for (const auto& [phase, name] : kGroupPhases)
    metrics.describe(group_metric(name),
                     "The number of " + std::string(phase) + " PodGroup in this queue");
  metrics.describe(kCompleted, "Number of job completed phase");
  metrics.describe(kFailed, "Number of job failed phase");
  metrics.describe(kFlowSucceeded, "Number of jobflow succeed phase");
  metrics.describe(kFlowFailed, "Number of jobflow failed phase");
  metrics.describe(kPodCreation, "Latency from VCJob creation to pod created in milliseconds");
  caches.groups.on_change(
      [this](const auto& before, const auto& after) { group_changed(before.get(), after.get()); });
  caches.queues.on_change(
      [this](const auto& before, const auto& after) { queue_changed(before.get(), after.get()); });
  caches.jobs.on_change(
      [this](const auto& before, const auto& after) { job_changed(before.get(), after.get()); });
  if (!with_flows) return;
  auto& flows = caches.set.of<AnyObject>(kube::resources::job_flows, {.optional = true});
  flows.on_change(
      [this](const auto& before, const auto& after) { flow_changed(before.get(), after.get()); });
  flows_ = &flows;
}

void PhaseMetrics::group_changed(const model::PodGroup* before, const model::PodGroup* after) {
  if (before && after && before->spec.queue == after->spec.queue &&
      before->status.phase == after->status.phase)
    return;
  if (before) --queues_[before->spec.queue][before->status.phase];
  if (after) ++queues_[after->spec.queue][after->status.phase];
  if (before) show(before->spec.queue);
  if (after) show(after->spec.queue);
}

void PhaseMetrics::queue_changed(const model::Queue* before, const model::Queue* after) {
  if (after) {
    if (!before) show(after->metadata.name);
    return;
  }
  for (const auto& [phase, name] : kGroupPhases)
    metrics_.remove_gauge(group_metric(name), {{"queue_name", before->metadata.name}});
}

// Of queues that exist only: groups may name others.
void PhaseMetrics::show(const std::string& queue) {
  if (!caches_.queues.get(kube::Key{"", queue})) return;
  const Counts& counts = queues_[queue];
  for (const auto& [phase, name] : kGroupPhases) {
    auto found = counts.find(phase);
    metrics_.gauge(group_metric(name), found == counts.end() ? 0 : found->second,
                   {{"queue_name", queue}});
  }
}

void PhaseMetrics::job_changed(const model::VcJob* before, const model::VcJob* after) {
  if (!after || (before && before->metadata.uid != after->metadata.uid)) {
    metrics_.remove_counter(kCompleted, labels_of(*before));
    metrics_.remove_counter(kFailed, labels_of(*before));
    return;
  }
  // One that is first seen when it has ended was counted by an earlier process.
  if (!before || before->status.state.phase == after->status.state.phase) return;
  if (after->status.state.phase == "Completed") metrics_.count(kCompleted, labels_of(*after));
  if (after->status.state.phase == "Failed") metrics_.count(kFailed, labels_of(*after));
}

void PhaseMetrics::flow_changed(const AnyObject* before, const AnyObject* after) {
  const std::string& ns = (after ? after : before)->metadata.ns;
  MetricLabels labels{{"jobflow_namespace", ns}};
  if (!after) {  // the counts go with the namespace's last flow
    bool others = false;
    flows_->for_each([&](const auto& flow) { others |= flow->metadata.ns == ns; });
    if (others) return;
    metrics_.remove_counter(kFlowSucceeded, labels);
    metrics_.remove_counter(kFlowFailed, labels);
    return;
  }
  std::string phase = phase_of(after);
  if (!before || phase_of(before) == phase) return;
  if (phase == "Succeed") metrics_.count(kFlowSucceeded, labels);
  if (phase == "Failed") metrics_.count(kFlowFailed, labels);
}

void observe_pod_creation(Metrics& metrics, const model::VcJob& job, WallTime now) {
  static const std::vector<double> buckets = creation_buckets();
  if (!job.metadata.creationTimestamp) return;
  Nanos waited = std::max(Nanos(0), now - *job.metadata.creationTimestamp.at);
  metrics.observe(kPodCreation, std::chrono::duration<double, std::milli>(waited).count(), {},
                  buckets);
}

}  // namespace hekla::controllers
