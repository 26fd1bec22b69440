#include "controllers/volcano/job/policies.h"

#include <algorithm>
#include <array>

#include "base/log.h"

namespace hekla::controllers {
namespace {

constexpr std::array<std::string_view, 12> kEvents = {
    "",           "OutOfSync", "CommandIssued", "PodPending", "PodRunning", "PodFailed",
    "PodEvicted", "Unknown",   "TaskCompleted", "TaskFailed", "",           ""};

bool is_internal(Event event) {
  return event == Event::out_of_sync || event == Event::command_issued ||
         event == Event::pod_running || event == Event::pod_succeeded ||
         event == Event::pod_updated;
}

bool names_event(const model::LifecyclePolicy& policy, std::string_view event) {
  return policy.event == event ||
         std::find(policy.events.begin(), policy.events.end(), event) != policy.events.end();
}

// How long a policy waits; nullopt when its text is no duration, or one that points back. Admission
// refuses those; a cluster may have let one in without it.
std::optional<Nanos> timeout_of(const model::LifecyclePolicy& policy) {
  if (policy.timeout.empty()) return Nanos(0);
  Result<Nanos> timeout = model::parse_go_duration(policy.timeout);
  if (timeout && *timeout >= Nanos(0)) return *timeout;
  log_warn("job-controller", "a policy is left out: its timeout is not a duration",
           {{"timeout", policy.timeout}});
  return std::nullopt;
}

bool matches(const model::LifecyclePolicy& policy, const Request& request) {
  std::string_view event = text(request.event);
  if (!event.empty() && (names_event(policy, event) || names_event(policy, "*"))) {
    // A pod is always pending for a moment: only a policy that waits is about that.
    if (request.event != Event::pod_pending || !policy.timeout.empty()) return true;
  }
  return policy.exitCode && request.exit_code != 0 && *policy.exitCode == request.exit_code;
}

std::optional<Decision> first_match(const std::vector<model::LifecyclePolicy>& policies,
                                    const Request& request) {
  for (const model::LifecyclePolicy& policy : policies) {
    if (!matches(policy, request)) continue;
    if (std::optional<Nanos> timeout = timeout_of(policy))
      return Decision{parse_action(policy.action), *timeout};
  }
  return std::nullopt;
}

}  // namespace

std::string_view text(Event event) { return kEvents[static_cast<std::size_t>(event)]; }

Decision resolve(const model::VcJob& job, const Request& request) {
  if (request.action) return {*request.action, Nanos(0)};
  if (is_internal(request.event)) return {};
  if (!request.job_uid.empty() && request.job_uid != job.metadata.uid) return {};
  if (request.version && *request.version < job.status.version) return {};
  if (!request.task.empty())
    for (const model::TaskSpec& task : job.spec.tasks)
      if (task.name == request.task)
        if (auto decision = first_match(task.policies, request)) return *decision;
  return first_match(job.spec.policies, request).value_or(Decision{});
}

bool DelayedActions::add(const Request& cause, Action action, WallTime due) {
  auto found = waiting_.find(cause.pod);
  if (found != waiting_.end() && found->second.action == action) return false;
  waiting_[cause.pod] = Waiting{cause, action, due};
  return true;
}

void DelayedActions::cancel_for(const Request& request) {
  if (request.pod.empty()) return;
  auto found = waiting_.find(request.pod);
  if (found == waiting_.end()) return;
  const Request& cause = found->second.cause;
  bool no_longer_pending =
      request.event == Event::pod_running || request.event == Event::pod_failed ||
      request.event == Event::pod_evicted || request.event == Event::task_completed ||
      request.event == Event::pod_succeeded;
  bool off = cause.event == Event::pod_pending
                 ? no_longer_pending && request.pod_uid == cause.pod_uid
                 : request.event == Event::pod_running &&
                       (cause.event == Event::pod_failed || cause.event == Event::pod_evicted);
  if (off) waiting_.erase(found);
}

void DelayedActions::cancel_reached(Action action, const Request& target) {
  std::erase_if(waiting_, [&](const auto& entry) {
    const Request& cause = entry.second.cause;
    switch (action) {
      case Action::sync:
      case Action::other:
        return false;
      case Action::restart_task:
        return cause.task == target.task;
      case Action::restart_pod:
        return cause.pod == target.pod;
      case Action::restart_partition:
        return cause.task == target.task && cause.partition == target.partition;
      default:
        return true;
    }
  });
}

std::vector<DelayedActions::Waiting> DelayedActions::take_due(WallTime now) {
  std::vector<Waiting> due;
  std::erase_if(waiting_, [&](const auto& entry) {
    if (entry.second.due > now) return false;
    due.push_back(entry.second);
    return true;
  });
  return due;
}

std::optional<WallTime> DelayedActions::next() const {
  std::optional<WallTime> earliest;
  for (const auto& [pod, waiting] : waiting_)
    if (!earliest || waiting.due < *earliest) earliest = waiting.due;
  return earliest;
}

}  // namespace hekla::controllers
