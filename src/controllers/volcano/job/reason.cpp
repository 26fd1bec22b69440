#include "controllers/volcano/job/reason.h"

#include "controllers/volcano/job/status.h"

namespace hekla::controllers {
namespace {

constexpr std::size_t kLongestMessage = 512;  // a container's last words may be pages

std::string shortened(std::string text) {
  if (text.size() > kLongestMessage) {
    std::size_t end = kLongestMessage;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text.resize(end);
    text += "...";
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string times(std::int32_t count) {
  return std::to_string(count) + (count == 1 ? " time" : " times");
}

const model::ContainerStatus* failed_container(const model::Pod& pod) {
  for (const auto* list : {&pod.status.initContainerStatuses, &pod.status.containerStatuses})
    for (const model::ContainerStatus& container : *list)
      if (container.state.terminated && container.state.terminated->exitCode != 0)
        return &container;
  return nullptr;
}

// ": container main exited with code 137 (OOMKilled): last words"
std::string how_it_failed(const model::Pod& pod) {
  std::string text;
  auto add = [&](const std::string& more) {
    if (!more.empty()) text += ": " + more;
  };
  add(pod.status.reason);
  add(shortened(pod.status.message));
  if (const model::ContainerStatus* container = failed_container(pod)) {
    const model::ContainerStateTerminated& ended = *container->state.terminated;
    add("container " + container->name + " exited with code " + std::to_string(ended.exitCode) +
        (ended.reason.empty() ? "" : " (" + ended.reason + ")"));
    add(shortened(ended.message));
  }
  return text;
}

// Who asked for the pod's end, if somebody left word.
std::string who_ended_it(const model::Pod& pod) {
  for (const model::PodCondition& condition : pod.status.conditions)
    if (condition.type == "DisruptionTarget" && condition.status == "True")
      return ": " + condition.reason + (condition.message.empty() ? "" : ", " + condition.message);
  return {};
}

const model::Pod* find_pod(const JobView& view, const std::string& uid) {
  for (const PodRef& pod : view.pods)
    if (pod->metadata.uid == uid) return pod.get();
  return nullptr;
}

WallTime ended_at(const model::Pod& pod) {
  const model::ContainerStatus* container = failed_container(pod);
  if (!container || !container->state.terminated->finishedAt) return WallTime::max();
  return *container->state.terminated->finishedAt.at;
}

const model::Pod* first_failed(const JobView& view) {
  const model::Pod* first = nullptr;
  for (const PodRef& pod : view.pods)
    if (pod->status.phase == "Failed" && !pod->metadata.deletionTimestamp)
      if (!first || ended_at(*pod) < ended_at(*first)) first = pod.get();
  return first;
}

std::string pod_failed(const model::Pod& pod) {
  return "Pod " + pod.metadata.name + " of task " + role_of(pod) + " failed" + how_it_failed(pod);
}

std::string what_happened(const JobView& view, const Request& request) {
  std::string pod_of_task = "Pod " + request.pod + " of task " + request.task;
  const model::Pod* pod = find_pod(view, request.pod_uid);
  switch (request.event) {
    case Event::pod_failed:
      return pod ? pod_failed(*pod) : pod_of_task + " failed";
    case Event::pod_evicted:
      return pod_of_task + " was evicted or deleted" + (pod ? who_ended_it(*pod) : "");
    case Event::pod_pending:
      return pod_of_task + " was pending for too long";
    case Event::task_completed:
      return "All pods of task " + request.task + " have succeeded";
    case Event::task_failed:
      return "Containers of task " + request.task + " were restarted too often";
    case Event::job_unknown:
      return "The PodGroup cannot be scheduled while pods of it run";
    default:
      return {};
  }
}

// The event that led to the action, and the action.
void give_cause(const JobView& view, Action action, const Request& request,
                model::VcJobState& state) {
  if (!request.reason.empty()) {
    state.reason = request.reason;
    state.message = request.message;
    return;
  }
  state.reason = text(request.event);
  std::string happened = what_happened(view, request);
  state.message = happened + (happened.empty() ? "" : "; ") + "action " + std::string(text(action));
}

// All pods have ended and too few of them well.
void give_verdict(const JobView& view, model::VcJobStatus& status) {
  const model::VcJobSpec& spec = view.job->spec;
  if (const model::Pod* pod = first_failed(view)) {
    status.state.reason = "PodFailed";
    status.state.message = pod_failed(*pod);
    if (status.failed > 1)
      status.state.message += "; " + std::to_string(status.failed) + " pods failed in all";
    return;
  }
  status.state.reason = "NotEnoughSucceeded";
  status.state.message =
      std::to_string(status.succeeded) + " pods succeeded, " +
      (spec.minSuccess && status.succeeded < *spec.minSuccess
           ? "minSuccess is " + std::to_string(*spec.minSuccess)
           : "minAvailable is " + std::to_string(spec.minAvailable)) +
      (status.succeeded >= spec.minAvailable && !spec.minSuccess ? " and a task lacks some" : "");
}

}  // namespace

void give_reason(const JobView& view, Action action, const Request& request,
                 model::VcJobStatus& status) {
  const model::VcJobState& before = view.job->status.state;
  model::VcJobState& state = status.state;
  bool restarting = parse_phase(before.phase) == Phase::restarting;
  switch (parse_phase(state.phase)) {
    case Phase::aborted:
    case Phase::terminated:
      return;
    case Phase::restarting:
    case Phase::aborting:
    case Phase::completing:
    case Phase::terminating:
      return give_cause(view, action, request, state);
    case Phase::failed:
      if (!restarting) return give_verdict(view, status);
      state.reason = "RetryLimitReached";
      // The last restart was counted, but does not take place.
      state.message = "Job was restarted " + times(status.retryCount - 1) + ", maxRetry is " +
                      std::to_string(view.job->spec.maxRetry) +
                      (before.message.empty() ? "" : "; the last time: " + before.message);
      return;
    case Phase::pending:
      if (restarting) return;
      [[fallthrough]];
    case Phase::running:
    case Phase::completed:
      state.reason.clear();
      state.message.clear();
  }
}

}  // namespace hekla::controllers
