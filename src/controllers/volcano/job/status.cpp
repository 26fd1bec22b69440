#include "controllers/volcano/job/status.h"

#include "controllers/volcano/job/state_machine.h"
#include "json/patch.h"

namespace hekla::controllers {

const std::string& role_of(const model::Pod& pod) {
  return pod.metadata.annotation(model::keys::task_spec);
}

void PodCounts::add(const std::string& task, const std::string& phase) {
  if (phase == "Pending" || phase.empty())
    ++pending;
  else if (phase == "Running")
    ++running;
  else if (phase == "Succeeded")
    ++succeeded;
  else if (phase == "Failed")
    ++failed;
  else
    ++unknown;
  if (!task.empty()) ++tasks[task].phase[phase.empty() ? "Pending" : phase];
}

void PodCounts::add(const model::Pod& pod) {
  if (pod.metadata.deletionTimestamp)
    ++terminating;
  else
    add(role_of(pod), pod.status.phase);
}

model::VcJobStatus with_counts(const model::VcJobStatus& before, const model::VcJobSpec& spec,
                               const PodCounts& counts) {
  model::VcJobStatus status = before;
  status.minAvailable = spec.minAvailable;
  status.pending = counts.pending;
  status.running = counts.running;
  status.succeeded = counts.succeeded;
  status.failed = counts.failed;
  status.terminating = counts.terminating;
  status.unknown = counts.unknown;
  status.taskStatusCount = counts.tasks;
  return status;
}

bool may_make_objects(const model::VcJobStatus& status) {
  Phase phase = parse_phase(status.state.phase);
  return phase == Phase::pending || phase == Phase::running || phase == Phase::restarting;
}

std::string plugin_mark(const ActivePlugin& active) { return "plugin-" + active.name; }

void mark_plugin_objects(const JobView& view, const model::VcJobStatus& before,
                         model::VcJobStatus& after) {
  if (may_make_objects(before) == may_make_objects(after)) return;
  bool ends = may_make_objects(before);
  for (const ActivePlugin& active : view.plugins) {
    if (ends && !active.plugin->object_names(*view.job).empty())
      after.controlledResources[plugin_mark(active)] = active.name;
    else
      after.controlledResources.erase(plugin_mark(active));
  }
}

void stamp(model::VcJobStatus& status, WallTime now) {
  status.state.lastTransitionTime = model::Time(now);
  std::erase_if(status.conditions, [&](const model::VcJobCondition& condition) {
    return condition.status == status.state.phase;
  });
  status.conditions.push_back({status.state.phase, model::Time(now)});
}

bool same(const model::VcJobStatus& a, const model::VcJobStatus& b) {
  return json::equal(json::encode(a), json::encode(b));
}

kube::Write status_patch(const model::VcJob& job, const model::VcJobStatus& after) {
  json::Object patch{{"metadata", json::Object{{"resourceVersion", job.metadata.resourceVersion}}},
                     {"status", json::diff_merge(json::encode(job.status), json::encode(after))}};
  return merge_patch(kube::resources::vcjobs, kube::Key{job.metadata.ns, job.metadata.name},
                     std::move(patch), "status");
}

}  // namespace hekla::controllers
