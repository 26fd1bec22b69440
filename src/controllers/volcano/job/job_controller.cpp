#include "controllers/volcano/job/job_controller.h"

#include "base/log.h"
#include "controllers/volcano/job/kill.h"
#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/pod_group.h"
#include "controllers/volcano/job/sync.h"
#include "controllers/volcano/phase_metrics.h"

namespace hekla::controllers {
namespace {

constexpr Nanos kPodsAppearWithin = std::chrono::seconds(1);

kube::Key job_key(const model::ObjectMeta& meta) { return {meta.ns, meta.name}; }

bool is_volcano_job(const model::OwnerReference* owner) {
  return owner && owner->kind == "Job" && owner->apiVersion.starts_with("batch.volcano.sh/");
}

}  // namespace

Plan plan_round(const JobView& view, Action action, const Request& request) {
  Transition transition = decide(parse_phase(view.job->status.state.phase), action);
  switch (transition.pods) {
    case PodAction::sync:
      return sync_job(view, transition.rule);
    case PodAction::kill_job:
      return kill_job(view, transition, action, request,
                      action != Action::sync || request.phase_changed);
    case PodAction::kill_target:
      return kill_target(view, action, request, transition.rule);
  }
  return {};
}

JobController::JobController(kube::Client& client, Caches& caches, kube::EventRecorder& events,
                             Metrics* metrics, int max_requeue, PluginDefaults plugin_defaults)
    : client_(client),
      caches_(caches),
      events_(events),
      metrics_(metrics),
      max_requeue_(max_requeue),
      plugin_defaults_(std::move(plugin_defaults)),
      loop_(caches.set,
            {.name = "job-controller",
             .on_failure = [this](const kube::Key& key, int failures,
                                  const Error& error) { gave_up(key, failures, error); }},
            [this](const kube::Key& key, WallTime now) { return reconcile(key, now); }) {
  caches_.jobs.on_change(
      [this](const auto& before, const auto& after) { job_changed(before, after); });
  caches_.pods.on_change(
      [this](const auto& before, const auto& after) { pod_changed(before, after); });
  caches_.groups.on_change(
      [this](const auto& before, const auto& after) { group_changed(before, after); });
}

void JobController::request(const kube::Key& job, Request request) {
  work_[job].queue.push(std::move(request));
  loop_.add(job);
}

void JobController::job_changed(const JobRef& before, const JobRef& after) {
  if (!after) {
    work_.erase(job_key(before->metadata));
    return;
  }
  kube::Key key = job_key(after->metadata);
  if (before && before->metadata.uid != after->metadata.uid) work_.erase(key);
  bool fresh = !before || before->metadata.uid != after->metadata.uid;
  bool phase_changed = !fresh && before->status.state.phase != after->status.state.phase;
  if (!fresh && !phase_changed && before->metadata.generation == after->metadata.generation) return;
  Request wanted;
  wanted.phase_changed = phase_changed;
  request(key, std::move(wanted));
}

void JobController::pod_changed(const PodRef& before, const PodRef& after) {
  const model::Pod& pod = after ? *after : *before;
  if (!is_volcano_job(pod.metadata.controller())) return;
  const std::string& job = pod.metadata.annotation(model::keys::job_name);
  auto work = work_.find(kube::Key{pod.metadata.ns, job});
  bool killed = work != work_.end() && work->second.killed.contains(pod.metadata.uid);
  if (killed && !after) work->second.killed.erase(pod.metadata.uid);
  if (auto found = pod_request(before.get(), after.get(), killed))
    request(found->job, std::move(found->request));
}

void JobController::group_changed(const std::shared_ptr<const model::PodGroup>& before,
                                  const std::shared_ptr<const model::PodGroup>& after) {
  const model::PodGroup& group = after ? *after : *before;
  const model::OwnerReference* owner = group.metadata.controller();
  if (!is_volcano_job(owner)) return;
  kube::Key key{group.metadata.ns, owner->name};
  JobRef job = caches_.jobs.get(key);
  if (after && job) {
    report_pending(key, *job, group);
  }
  if (before && after && before->status.phase == after->status.phase) return;
  Request wanted;
  if (!after || !before)
    wanted.event = Event::out_of_sync;
  else
    wanted.event = after->status.phase == "Unknown" ? Event::job_unknown : Event::none;
  request(key, std::move(wanted));
}

void JobController::report_pending(const kube::Key& key, const model::VcJob& job,
                                   const model::PodGroup& group) {
  std::optional<EventText> pending = pending_event(job, group);
  std::string message = pending ? pending->message : std::string();
  if (message == work_[key].pending_message) return;
  work_[key].pending_message = message;
  if (!pending) return;
  // A group that was let in lacks pods for the moment it takes to make them: that is no news.
  if (message.find("/0 tasks in gang unschedulable") == std::string::npos)
    return record(job, *pending);
  client_.executor().post_after(
      kPodsAppearWithin, [this, weak = std::weak_ptr<bool>(alive_), key, message] {
        if (!weak.lock()) return;
        JobRef still = caches_.jobs.get(key);
        auto work = work_.find(key);
        if (still && work != work_.end() && work->second.pending_message == message)
          record(*still, EventText{"Warning", "PodGroupPending", message});
      });
}

void JobController::command(const model::Command& command) {
  kube::Key key{command.metadata.ns, command.target.name};
  JobRef job = caches_.jobs.get(key);
  if (!job) return;
  Action action = parse_action(command.action);
  if (action == Action::other)
    return record(*job, {"Warning", "CommandIssued",
                         "Command " + command.metadata.name + " is dropped: \"" + command.action +
                             "\" is not an action of jobs"});
  record(*job, {"Normal", "CommandIssued",
                "Start to execute command " + command.action +
                    ", and clean it up to make sure executed not more than once."});
  Request wanted;
  wanted.event = Event::command_issued;
  wanted.action = action;
  wanted.reason = "CommandIssued";
  wanted.message = "Command " + command.metadata.name + " asked for " + command.action;
  for (const std::string& more : {command.reason, command.message})
    if (!more.empty()) wanted.message += ": " + more;
  request(key, std::move(wanted));
}

JobView JobController::make_view(const JobRef& job, const Work& work, WallTime now) const {
  JobView view;
  view.prepared = work.prepared;
  view.removed = work.removed;
  view.job = job;
  view.pods = caches_.pods_of(job->metadata.uid);
  view.now = now;
  view.queue = caches_.queues.get(kube::Key{"", job->spec.queue});
  view.pod_group = caches_.groups.get(kube::Key{job->metadata.ns, pod_group_name(*job)});
  if (!view.pod_group) {  // older releases named it after the job
    auto legacy = caches_.groups.get(job_key(job->metadata));
    const model::OwnerReference* owner = legacy ? legacy->metadata.controller() : nullptr;
    if (owner && owner->uid == job->metadata.uid) view.pod_group = std::move(legacy);
  }
  if (Result<std::vector<ActivePlugin>> plugins = make_plugins(job->spec, plugin_defaults_))
    view.plugins = std::move(*plugins);
  else
    view.plugin_error = plugins.error();
  view.priority_of = [this](const std::string& name) {
    auto found = caches_.priorities.get(kube::Key{"", name});
    return found ? found->value : 0;
  };
  view.claim_exists = [this, ns = job->metadata.ns](const std::string& name) {
    return caches_.claims.get(kube::Key{ns, name}) != nullptr;
  };
  return view;
}

kube::Round JobController::reconcile(const kube::Key& key, WallTime now) {
  kube::Round round;
  JobRef job = caches_.jobs.get(key);
  if (!job) {
    work_.erase(key);
    return round;
  }
  Work& work = work_[key];
  if (job->metadata.deletionTimestamp) {
    work = Work{};
    return round;
  }
  for (DelayedActions::Waiting& due : work.delayed.take_due(now)) {
    due.cause.action = due.action;
    work.queue.push(std::move(due.cause));
  }
  JobView view = make_view(job, work, now);
  std::optional<WallTime> deadline = deadline_of(view);
  if (deadline && *deadline <= now && !work.deadline_passed) {
    work.deadline_passed = true;
    Request end;
    end.event = Event::command_issued;
    end.action = Action::terminate_job;
    end.reason = "DeadlineExceeded";
    end.message = "Job was active longer than specified deadline";
    record(*job, {"Warning", end.reason, end.message});
    work.queue.push(std::move(end));
  }
  std::vector<EventText> events;
  std::optional<RequestQueue::Choice> choice = work.queue.choose(view, work.delayed, events);
  for (const EventText& event : events) record(*job, event);
  if (choice) {
    if (choice->action != Action::sync && !choice->request.announced) {
      // A policy of an exit code may name an action that does not exist; only the pods follow then.
      std::string name(choice->action == Action::other ? "unknown" : text(choice->action));
      record(*job, {"Normal", "ExecuteAction", "Start to execute action " + name + " "});
      work.queue.mark_announced(choice->done);
    }
    work.action = choice->action;
    work.trying = choice->done;
    Plan plan = plan_round(view, choice->action, choice->request);
    round = start_round(key, view, std::move(plan), std::move(*choice));
  }
  std::optional<WallTime> next = work_[key].delayed.next();
  if (deadline && *deadline > now) next = next ? std::min(*next, *deadline) : *deadline;
  if (next)
    round.again_after =
        std::min(round.again_after.value_or(Nanos::max()), std::max(Nanos(0), *next - now));
  return round;
}

kube::Round JobController::start_round(const kube::Key& key, const JobView& view, Plan plan,
                                       RequestQueue::Choice choice) {
  kube::Round round;
  Work& work = work_[key];
  for (const EventText& event : plan.events) record(*view.job, event);
  if (plan.error) {
    round.error = std::move(plan.error);
    return round;
  }
  round.again_after = plan.again_after;
  Outcome outcome{std::move(choice),    std::move(plan.prepares),     std::move(plan.removes),
                  plan.clears_prepared, plan.again_after.has_value(), plan.goes_on};
  std::vector<Planned> repairs;
  for (kube::Write& repair : work.repairs) repairs.push_back({std::move(repair), Purpose::plugin});
  work.repairs.clear();
  plan.writes.insert(plan.writes.begin(), std::make_move_iterator(repairs.begin()),
                     std::make_move_iterator(repairs.end()));
  if (plan.writes.empty()) {
    finish(key, outcome);
    return round;
  }
  work.killed.insert(plan.killed.begin(), plan.killed.end());
  // Of what was written only a plugin's objects are looked at again: not ten thousand pods.
  auto planned = std::make_shared<std::vector<Planned>>();
  for (Planned& one : plan.writes) {
    Planned& kept = planned->emplace_back(Planned{{}, one.purpose});
    kept.write.verb = one.write.verb;
    if (one.purpose == Purpose::plugin) kept.write = one.write;
    round.writes.push_back(std::move(one.write));
  }
  round.settle = [this, key, job = view.job, planned, outcome = std::move(outcome)](
                     const std::vector<kube::WriteResult>& results) -> Result<void> {
    TRY(settle(key, job, *planned, results));
    finish(key, outcome);
    return {};
  };
  return round;
}

Result<void> JobController::settle(const kube::Key& key, const JobRef& job,
                                   const std::vector<Planned>& planned,
                                   const std::vector<kube::WriteResult>& results) {
  std::optional<Error> first;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) {
      if (metrics_ && planned[i].purpose == Purpose::pod_create)
        observe_pod_creation(*metrics_, *job, client_.executor().clock().wall());
      continue;
    }
    std::optional<Error> error = judge(job, work_[key], planned[i], results[i].error());
    if (error && !first) first = std::move(error);
  }
  if (first) return std::unexpected(std::move(*first));
  return {};
}

// Whether a pod that is not the job's and not on its way out bears the name: nobody else would say
// why the job waits.
bool JobController::is_taken(const model::VcJob& job, const std::string& pod_name) const {
  PodRef pod = caches_.pods.get(kube::Key{job.metadata.ns, pod_name});
  if (!pod || pod->metadata.deletionTimestamp) return false;
  const model::OwnerReference* owner = pod->metadata.controller();
  return !owner || owner->uid != job.metadata.uid;
}

std::optional<Error> JobController::judge(const JobRef& job, Work& work, const Planned& planned,
                                          const Error& error) {
  bool creating = planned.write.verb == kube::Write::Verb::create;
  bool exists = creating && error.code == Code::already_exists;
  bool gone = !creating && error.code == Code::not_found;
  auto warn = [&](const char* reason, const char* what) {
    record(*job, {"Warning", reason, what + error.message});
    return error;
  };
  switch (planned.purpose) {
    case Purpose::pod_create:
      if (exists && !is_taken(*job, error.details.name)) return std::nullopt;
      return warn("FailedCreate", "Error creating pods: ");
    case Purpose::pod_mark:
      return std::nullopt;  // the deletion tells
    case Purpose::pod_delete:
      if (gone) return std::nullopt;
      if (error.code == Code::conflict) return error;  // another pod by now? The next round sees
      return warn("FailedDelete", "Error deleting pods: ");
    case Purpose::plugin:
      if (exists) {  // a Secret of an earlier job of this name: it belongs to this one from now on
        json::Object metadata = *json::object_at(planned.write.body, {"metadata"});
        work.repairs.push_back(apply_patch(planned.write.resource, planned.write.key.ns,
                                           json::Object{{"apiVersion", "v1"},
                                                        {"kind", planned.write.resource.kind},
                                                        {"metadata", std::move(metadata)}}));
        return std::nullopt;
      }
      if (gone) return std::nullopt;
      return warn("PluginError", "Execute plugin when job add failed, err: ");
    case Purpose::claim:
      if (exists) return std::nullopt;
      return warn("PVCError", "Failed to create PVC, err: ");
    case Purpose::pod_group:
      if (exists || gone) return std::nullopt;
      return warn("PodGroupError", "Failed to create PodGroup, err: ");
    case Purpose::status:
      if (gone) return std::nullopt;
      if (job->status.state.phase.empty() && error.code != Code::conflict)
        return warn("JobStatusError", "Failed to initialize job status, err: ");
      return error;
    case Purpose::spec:
      if (gone) return std::nullopt;
      return error;
  }
  return error;
}

void JobController::finish(const kube::Key& key, const Outcome& outcome) {
  auto found = work_.find(key);
  if (found == work_.end()) return;
  Work& work = found->second;
  work.delayed.cancel_reached(outcome.choice.action, outcome.choice.request);
  if (outcome.clears_prepared) {
    work.prepared.clear();
    work.removed.clear();
  }
  work.prepared.insert(outcome.prepares.begin(), outcome.prepares.end());
  if (!outcome.keep_requests) work.queue.drop(outcome.choice.done);
  work.removed.insert(outcome.removes.begin(), outcome.removes.end());
  if (!work.repairs.empty() || !outcome.removes.empty() || outcome.goes_on)
    work.queue.push(Request{});
  if (!work.queue.empty() && !outcome.keep_requests) loop_.add(key);
}

void JobController::gave_up(const kube::Key& key, int failures, const Error& error) {
  if (failures != max_requeue_) return;
  auto work = work_.find(key);
  JobRef job = caches_.jobs.get(key);
  if (work == work_.end() || !job) return;
  std::string failed =
      "Job failed on action " + std::string(text(work->second.action)) + " for retry limit reached";
  record(*job, {"Normal", "ExecuteAction", failed});
  work->second.queue.drop(work->second.trying);
  Request end;
  end.reason = "RetryLimitReached";
  end.message = failed + ": " + error.message;
  end.event = Event::command_issued;
  end.action = Action::terminate_job;
  end.announced = true;
  work->second.queue.push(std::move(end));
}

void JobController::record(const model::VcJob& job, const EventText& event) {
  kube::EventTarget target{kube::resources::vcjobs.api_version(),
                           kube::resources::vcjobs.kind,
                           job.metadata.ns,
                           job.metadata.name,
                           job.metadata.uid,
                           0};
  events_.record(target, event.type, event.reason, event.message);
}

}  // namespace hekla::controllers
