#include "controllers/volcano/job/state_machine.h"

#include <array>
#include <optional>

namespace hekla::controllers {
namespace {

constexpr std::array<std::string_view, 10> kPhases = {
    "Pending",    "Aborting",  "Aborted",     "Running",    "Restarting",
    "Completing", "Completed", "Terminating", "Terminated", "Failed"};
constexpr std::array<std::string_view, 10> kActions = {
    "SyncJob",          "AbortJob",     "RestartJob",  "RestartTask", "RestartPod",
    "RestartPartition", "TerminateJob", "CompleteJob", "ResumeJob",   ""};

constexpr std::nullopt_t kAny = std::nullopt;

struct Row {
  Phase phase;
  std::optional<Action> action;
  Transition then;
};

constexpr Transition sync(Rule rule) { return {PodAction::sync, Retain::none, rule}; }
constexpr Transition kill(Retain retain, Rule rule) { return {PodAction::kill_job, retain, rule}; }
constexpr Transition target(Rule rule) { return {PodAction::kill_target, Retain::none, rule}; }

// The first row that fits wins; each phase ends with a row for any action.
constexpr Row kTable[] = {
    {Phase::pending, Action::restart_job, kill(Retain::none, Rule::to_restarting)},
    {Phase::pending, Action::restart_task, target(Rule::to_restarting)},
    {Phase::pending, Action::restart_pod, target(Rule::to_restarting)},
    {Phase::pending, Action::restart_partition, target(Rule::to_restarting)},
    {Phase::pending, Action::abort_job, kill(Retain::soft, Rule::to_aborting)},
    {Phase::pending, Action::complete_job, kill(Retain::soft, Rule::to_completing)},
    {Phase::pending, Action::terminate_job, kill(Retain::soft, Rule::to_terminating)},
    {Phase::pending, kAny, sync(Rule::pending_rule)},

    {Phase::running, Action::restart_job, kill(Retain::none, Rule::to_restarting)},
    {Phase::running, Action::restart_task, target(Rule::to_restarting)},
    {Phase::running, Action::restart_pod, target(Rule::to_restarting)},
    {Phase::running, Action::restart_partition, target(Rule::to_restarting)},
    {Phase::running, Action::abort_job, kill(Retain::soft, Rule::to_aborting)},
    {Phase::running, Action::complete_job, kill(Retain::soft, Rule::to_completing)},
    {Phase::running, Action::terminate_job, kill(Retain::soft, Rule::to_terminating)},
    {Phase::running, kAny, sync(Rule::running_rule)},

    {Phase::restarting, Action::sync, sync(Rule::restart_rule)},
    {Phase::restarting, Action::restart_task, target(Rule::restart_rule)},
    {Phase::restarting, Action::restart_pod, target(Rule::restart_rule)},
    {Phase::restarting, Action::restart_partition, target(Rule::restart_rule)},
    {Phase::restarting, kAny, kill(Retain::none, Rule::restart_rule)},

    {Phase::aborting, Action::resume_job, kill(Retain::soft, Rule::resumed)},
    {Phase::aborting, kAny, kill(Retain::soft, Rule::aborted_when_dead)},
    {Phase::aborted, Action::resume_job, kill(Retain::soft, Rule::resumed)},
    {Phase::aborted, kAny, kill(Retain::soft, Rule::stay)},
    {Phase::completing, kAny, kill(Retain::soft, Rule::completed_when_dead)},
    {Phase::terminating, kAny, kill(Retain::soft, Rule::terminated_when_dead)},
    {Phase::completed, kAny, kill(Retain::soft, Rule::stay)},
    {Phase::failed, kAny, kill(Retain::soft, Rule::stay)},
    {Phase::terminated, kAny, kill(Retain::soft, Rule::stay)},
};

bool alive(const model::VcJobStatus& status) {
  return status.terminating != 0 || status.pending != 0 || status.running != 0;
}

Phase pending_rule(const model::VcJobSpec& spec, const model::VcJobStatus& status) {
  return spec.minAvailable <= status.running + status.succeeded + status.failed ? Phase::running
                                                                                : Phase::pending;
}

std::int32_t succeeded_of(const model::VcJobStatus& status, const std::string& task) {
  auto role = status.taskStatusCount.find(task);
  if (role == status.taskStatusCount.end()) return 0;
  auto count = role->second.phase.find("Succeeded");
  return count == role->second.phase.end() ? 0 : count->second;
}

// All pods have ended: did enough of them succeed?
Phase verdict(const model::VcJobSpec& spec, const model::VcJobStatus& status) {
  if (spec.minAvailable >= total_role_min_available(spec))
    for (const model::TaskSpec& task : spec.tasks)
      if (task.minAvailable && succeeded_of(status, task.name) < *task.minAvailable)
        return Phase::failed;
  if (spec.minSuccess && status.succeeded < *spec.minSuccess) return Phase::failed;
  return status.succeeded >= spec.minAvailable ? Phase::completed : Phase::failed;
}

Phase running_rule(const model::VcJobSpec& spec, const model::VcJobStatus& status) {
  std::int64_t total = total_replicas(spec);
  if (total == 0) return Phase::running;
  if (spec.minSuccess && status.succeeded >= *spec.minSuccess) return Phase::completed;
  if (status.succeeded + status.failed == total) return verdict(spec, status);
  if (status.pending > total - spec.minAvailable) return Phase::pending;
  return Phase::running;
}

Phase restart_rule(const model::VcJobSpec& spec, const model::VcJobStatus& status) {
  if (status.retryCount >= spec.maxRetry) return Phase::failed;
  if (total_replicas(spec) - status.terminating >= status.minAvailable) return Phase::pending;
  return Phase::restarting;
}

Phase next_phase(Rule rule, Phase now, const model::VcJobSpec& spec,
                 const model::VcJobStatus& status) {
  switch (rule) {
    case Rule::stay:
      return now;
    case Rule::to_restarting:
    case Rule::resumed:
      return Phase::restarting;
    case Rule::to_aborting:
      return Phase::aborting;
    case Rule::to_completing:
      return Phase::completing;
    case Rule::to_terminating:
      return Phase::terminating;
    case Rule::pending_rule:
      return pending_rule(spec, status);
    case Rule::running_rule:
      return running_rule(spec, status);
    case Rule::restart_rule:
      return restart_rule(spec, status);
    case Rule::aborted_when_dead:
      return alive(status) ? now : Phase::aborted;
    case Rule::completed_when_dead:
      return alive(status) ? now : Phase::completed;
    case Rule::terminated_when_dead:
      return alive(status) ? now : Phase::terminated;
  }
  return now;
}

}  // namespace

std::string_view text(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

Phase parse_phase(std::string_view text) {
  for (std::size_t i = 0; i < kPhases.size(); ++i)
    if (kPhases[i] == text) return static_cast<Phase>(i);
  return Phase::pending;
}

bool is_finished(Phase phase) {
  return phase == Phase::completed || phase == Phase::failed || phase == Phase::terminated;
}

std::string_view text(Action action) { return kActions[static_cast<std::size_t>(action)]; }

Action parse_action(std::string_view text) {
  for (std::size_t i = 0; i + 1 < kActions.size(); ++i)
    if (kActions[i] == text) return static_cast<Action>(i);
  return Action::other;
}

Transition decide(Phase phase, Action action) {
  for (const Row& row : kTable)
    if (row.phase == phase && (!row.action || *row.action == action)) return row.then;
  return {};
}

bool apply_rule(Rule rule, const model::VcJobSpec& spec, model::VcJobStatus& status) {
  Phase before = parse_phase(status.state.phase);
  if (rule == Rule::to_restarting) ++status.retryCount;
  Phase after = next_phase(rule, before, spec, status);
  if (after == before && !status.state.phase.empty()) return false;
  status.state.phase = text(after);
  return true;
}

std::int64_t total_replicas(const model::VcJobSpec& spec) {
  std::int64_t total = 0;
  for (const model::TaskSpec& task : spec.tasks) total += task.replicas;
  return total;
}

std::int32_t role_min_available(const model::TaskSpec& task) {
  return task.minAvailable.value_or(task.replicas);
}

std::int64_t total_role_min_available(const model::VcJobSpec& spec) {
  std::int64_t total = 0;
  for (const model::TaskSpec& task : spec.tasks) total += role_min_available(task);
  return total;
}

}  // namespace hekla::controllers
