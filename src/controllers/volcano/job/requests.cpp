#include "controllers/volcano/job/requests.h"

#include <algorithm>
#include <map>

#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/status.h"

namespace hekla::controllers {
namespace {

// Only the first container's code counts, as in Volcano.
std::int32_t exit_code(const model::Pod& pod) {
  const auto& containers = pod.status.containerStatuses;
  if (containers.empty() || !containers.front().state.terminated) return 0;
  return containers.front().state.terminated->exitCode;
}

// A pod first seen in a phase (the controller has just started) is taken to have entered it: what
// has been dealt with before left its trace in the job's version or in the pod's mark.
Event event_of(const model::Pod* before, const model::Pod* after, bool killed) {
  if (!after || after->metadata.deletionTimestamp) {
    const model::Pod& pod = after ? *after : *before;
    bool known = before && before->metadata.deletionTimestamp;
    return known || killed || is_out_of_sync(pod) ? Event::out_of_sync : Event::pod_evicted;
  }
  if (killed || is_out_of_sync(*after)) return Event::out_of_sync;
  const std::string& phase = after->status.phase;
  bool entered = !before || before->status.phase != phase;
  if (phase == "Failed") return entered ? Event::pod_failed : Event::out_of_sync;
  if (phase == "Succeeded") return entered ? Event::pod_succeeded : Event::out_of_sync;
  if (phase == "Running") return entered ? Event::pod_running : Event::pod_updated;
  if (phase == "Pending" || phase.empty()) {
    bool was_pending =
        before && (before->status.phase == "Pending" || before->status.phase.empty());
    return was_pending ? Event::pod_updated : Event::pod_pending;
  }
  return Event::out_of_sync;
}

bool task_completed(const JobView& view, const model::TaskSpec& task) {
  std::int32_t succeeded = 0;
  for (const PodRef& pod : view.pods)
    if (role_of(*pod) == task.name && pod->status.phase == "Succeeded" &&
        !pod->metadata.deletionTimestamp && !is_out_of_sync(*pod))
      ++succeeded;
  return task.replicas > 0 && succeeded >= task.replicas;
}

bool task_failed(const JobView& view, const model::TaskSpec& task) {
  if (task.maxRetry == -1) return false;
  std::int32_t limit = task.maxRetry == 0 ? 3 : task.maxRetry;
  std::int32_t restarts = 0;
  for (const PodRef& pod : view.pods) {
    if (role_of(*pod) != task.name || pod->metadata.deletionTimestamp) continue;
    if (pod->status.phase != "Running" && pod->status.phase != "Pending") continue;
    for (const auto& container : pod->status.containerStatuses) restarts += container.restartCount;
    for (const auto& container : pod->status.initContainerStatuses)
      restarts += container.restartCount;
  }
  return restarts >= limit;
}

}  // namespace

std::optional<PodRequest> pod_request(const model::Pod* before, const model::Pod* after,
                                      bool killed) {
  const model::Pod& pod = after ? *after : *before;
  const model::OwnerReference* owner = pod.metadata.controller();
  if (!owner || owner->kind != "Job" || !owner->apiVersion.starts_with("batch.volcano.sh/"))
    return std::nullopt;
  const std::string& job = pod.metadata.annotation(model::keys::job_name);
  std::optional<std::int32_t> version = pod_version(pod);
  if (job.empty() || !version || role_of(pod).empty()) return std::nullopt;

  Request request;
  request.event = event_of(before, after, killed);
  request.job_uid = owner->uid;
  request.task = role_of(pod);
  request.pod = pod.metadata.name;
  request.pod_uid = pod.metadata.uid;
  request.partition = pod.metadata.label(model::keys::partition_id);
  request.version = version;
  if (request.event == Event::pod_failed) request.exit_code = exit_code(pod);
  return PodRequest{kube::Key{pod.metadata.ns, job}, std::move(request)};
}

Event read_event(const Request& request, const JobView& view) {
  if (request.event != Event::pod_succeeded && request.event != Event::pod_updated)
    return request.event;
  const model::TaskSpec* task = find_task(*view.job, request.task);
  if (!task) return Event::out_of_sync;
  if (request.event == Event::pod_succeeded)
    return task_completed(view, *task) ? Event::task_completed : Event::out_of_sync;
  return task_failed(view, *task) ? Event::task_failed : Event::out_of_sync;
}

void RequestQueue::push(Request request) {
  auto only_syncs = [](const Request& one) {
    return one.event == Event::out_of_sync && !one.action && !one.phase_changed;
  };
  if (only_syncs(request) && !entries_.empty() && entries_.back().id > chosen_up_to_ &&
      only_syncs(entries_.back().request))
    return;
  entries_.push_back({next_id_++, std::move(request)});
}

std::optional<RequestQueue::Choice> RequestQueue::choose(const JobView& view,
                                                         DelayedActions& delayed,
                                                         std::vector<EventText>& events) {
  if (entries_.empty()) return std::nullopt;
  chosen_up_to_ = entries_.back().id;
  Choice choice;
  choice.request.event = Event::out_of_sync;
  bool chosen = false;
  // The answer is the same for all pods of a task, and takes a look at each of the job's.
  std::map<std::pair<std::string, Event>, Event> answers;
  for (Entry& entry : entries_) {
    Request& request = entry.request;
    delayed.cancel_for(request);
    Request read = request;
    auto [answer, fresh] = answers.try_emplace({request.task, request.event});
    if (fresh) answer->second = read_event(request, view);
    read.event = answer->second;
    Decision decision = resolve(*view.job, read);
    if (decision.delay > Nanos(0)) {
      if (delayed.add(read, decision.action, view.now + decision.delay))
        events.push_back({"Normal", "ExecuteAction",
                          "Execute action " + std::string(text(decision.action)) + " after " +
                              model::format_go_duration(decision.delay)});
      decision.action = Action::sync;  // the counters still follow
      request = Request{};
    }
    if (decision.action == Action::sync) {
      choice.done.push_back(entry.id);
      if (request.phase_changed) choice.request.phase_changed = true;
    } else if (!chosen) {
      chosen = true;
      bool phase_changed = choice.request.phase_changed;
      choice.action = decision.action;
      choice.request = read;
      choice.request.phase_changed |= phase_changed;
      choice.done.push_back(entry.id);
    }
  }
  return choice;
}

void RequestQueue::drop(const std::vector<std::uint64_t>& ids) {
  std::erase_if(entries_, [&](const Entry& entry) {
    return std::binary_search(ids.begin(), ids.end(), entry.id);  // choose() lists them in order
  });
}

void RequestQueue::mark_announced(const std::vector<std::uint64_t>& ids) {
  for (Entry& entry : entries_)
    if (std::binary_search(ids.begin(), ids.end(), entry.id)) entry.request.announced = true;
}

}  // namespace hekla::controllers
