#include "controllers/volcano/job/kill.h"

#include "controllers/volcano/job/reason.h"
#include "controllers/volcano/job/status.h"

namespace hekla::controllers {
namespace {

bool retained(const model::Pod& pod, Retain retain) {
  return retain == Retain::soft &&
         (pod.status.phase == "Succeeded" || pod.status.phase == "Failed");
}

bool is_target(const model::Pod& pod, Action action, const Request& target) {
  switch (action) {
    case Action::restart_task:
      return !target.task.empty() && role_of(pod) == target.task;
    case Action::restart_pod:
      return !target.pod.empty() && pod.metadata.name == target.pod;
    case Action::restart_partition:
      return !target.task.empty() && !target.partition.empty() && role_of(pod) == target.task &&
             pod.metadata.label(model::keys::partition_id) == target.partition;
    default:
      return false;
  }
}

kube::Write mark(const model::Pod& pod) {
  json::Object annotations{{model::keys::out_of_sync, "true"}};
  return merge_patch(
      kube::resources::pods, kube::Key{pod.metadata.ns, pod.metadata.name},
      json::Object{{"metadata", json::Object{{"annotations", std::move(annotations)}}}});
}

// The marks come first and the status before the deletions: whichever write is the last to arrive,
// the next round finds out from the objects what is left to do.
void kill_pods(const std::vector<PodRef>& victims, kube::Write status, Plan& plan) {
  for (const PodRef& pod : victims)
    if (!is_out_of_sync(*pod)) plan.add(Purpose::pod_mark, mark(*pod));
  plan.add(Purpose::status, std::move(status));
  for (const PodRef& pod : victims) {
    plan.add(Purpose::pod_delete,
             remove(kube::resources::pods, kube::Key{pod->metadata.ns, pod->metadata.name},
                    pod->metadata.uid));
    plan.killed.push_back(pod->metadata.uid);
  }
}

// From creation to the last change of phase, with the fraction of the moment it was first written.
void set_running_duration(const model::VcJob& job, bool phase_changed, WallTime now,
                          model::VcJobStatus& status) {
  if (!job.metadata.creationTimestamp) return;
  WallTime created = *job.metadata.creationTimestamp.at;
  if (phase_changed)
    status.runningDuration = model::format_go_duration(now - created);
  else if (status.runningDuration.empty() && status.state.lastTransitionTime)
    status.runningDuration =
        model::format_go_duration(*status.state.lastTransitionTime.at - created);
}

// What plugins made goes once the job has left the phases in which it could be made again. A mark
// stays until a round has seen its objects gone, so that neither a failed deletion nor a crash
// leaves anything behind.
void remove_plugin_objects(const JobView& view, model::VcJobStatus& status, Plan& plan) {
  const model::VcJob& job = *view.job;
  for (const ActivePlugin& active : view.plugins) {
    std::string mark = plugin_mark(active);
    if (!status.controlledResources.contains(mark)) continue;
    auto objects = active.plugin->object_names(job);
    if (objects.empty() || view.removed.contains(mark)) {
      status.controlledResources.erase(mark);
      continue;
    }
    for (const auto& [resource, name] : objects)
      plan.add(Purpose::plugin, remove(resource, kube::Key{job.metadata.ns, name}));
    plan.removes.push_back(mark);
  }
}

}  // namespace

Plan kill_job(const JobView& view, const Transition& transition, Action action,
              const Request& request, bool even_if_idle) {
  const model::VcJob& job = *view.job;
  Retain retain = transition.retain;
  // The last retry keeps the evidence of what went wrong.
  if (job.status.retryCount >= job.spec.maxRetry - 1) retain = Retain::soft;

  PodCounts counts;
  std::vector<PodRef> victims;
  for (const PodRef& pod : view.pods) {
    if (pod->metadata.deletionTimestamp || retained(*pod, retain)) {
      counts.add(*pod);
    } else {
      victims.push_back(pod);
      ++counts.terminating;
    }
  }

  model::VcJobStatus status = with_counts(job.status, job.spec, counts);
  Plan plan;
  plan.phase_changed = apply_rule(transition.rule, job.spec, status);
  if (plan.phase_changed) give_reason(view, action, request, status);
  if (plan.phase_changed) stamp(status, view.now);
  set_running_duration(job, plan.phase_changed, view.now, status);
  mark_plugin_objects(view, job.status, status);
  Plan after;
  bool over = !may_make_objects(job.status) && !may_make_objects(status);
  if (over) remove_plugin_objects(view, status, after);
  if (view.pod_group)
    plan.add(Purpose::pod_group,
             remove(kube::resources::pod_groups,
                    kube::Key{view.pod_group->metadata.ns, view.pod_group->metadata.name},
                    view.pod_group->metadata.uid));

  model::VcJobStatus but_marks = status;
  but_marks.controlledResources = job.status.controlledResources;
  bool idle = victims.empty() && plan.writes.empty() && same(but_marks, job.status);
  std::vector<Planned> group = std::move(plan.writes);
  plan.writes.clear();
  if (!idle || even_if_idle) {
    ++status.version;
    plan.clears_prepared = !may_make_objects(job.status) || !may_make_objects(status);
  }
  if (!same(status, job.status)) kill_pods(victims, status_patch(job, status), plan);
  for (std::vector<Planned>* more : {&after.writes, &group})
    plan.writes.insert(plan.writes.end(), std::make_move_iterator(more->begin()),
                       std::make_move_iterator(more->end()));
  plan.removes = std::move(after.removes);
  return plan;
}

Plan kill_target(const JobView& view, Action action, const Request& target, Rule rule) {
  const model::VcJob& job = *view.job;
  PodCounts counts;
  std::vector<PodRef> victims;
  for (const PodRef& pod : view.pods) {
    if (!pod->metadata.deletionTimestamp && is_target(*pod, action, target)) {
      victims.push_back(pod);
      ++counts.terminating;
    } else {
      counts.add(*pod);
    }
  }
  model::VcJobStatus status = with_counts(job.status, job.spec, counts);
  Plan plan;
  plan.phase_changed = apply_rule(rule, job.spec, status);
  if (plan.phase_changed) give_reason(view, action, target, status);
  if (plan.phase_changed) stamp(status, view.now);
  kill_pods(victims, status_patch(job, status), plan);
  return plan;
}

}  // namespace hekla::controllers
