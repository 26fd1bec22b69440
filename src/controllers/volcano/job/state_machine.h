// What a job does next: the complete table of phases and actions, and the rules that pick the next
// phase. Pure; the controller carries the decisions out (sync.h, kill.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/volcano.h"

namespace hekla::controllers {

enum class Phase : std::uint8_t {
  pending,  // also a job that has no phase yet
  aborting,
  aborted,
  running,
  restarting,
  completing,
  completed,
  terminating,
  terminated,
  failed,
};
std::string_view text(Phase phase);
Phase parse_phase(std::string_view text);
bool is_finished(Phase phase);  // Completed, Failed, Terminated: nothing leads out

enum class Action : std::uint8_t {
  sync,
  abort_job,
  restart_job,
  restart_task,
  restart_pod,
  restart_partition,
  terminate_job,
  complete_job,
  resume_job,
  other,  // a name we do not know, or one meant for queues
};
std::string_view text(Action action);
Action parse_action(std::string_view text);

enum class PodAction : std::uint8_t { sync, kill_job, kill_target };
// Which pods a whole-job kill leaves alone: none, or those that have ended by themselves.
enum class Retain : std::uint8_t { none, soft };

enum class Rule : std::uint8_t {
  stay,
  to_restarting,  // counts a retry
  resumed,        // restarting without counting one: suspending a job is no failure of it
  to_aborting,
  to_completing,
  to_terminating,
  pending_rule,
  running_rule,
  restart_rule,
  aborted_when_dead,
  completed_when_dead,
  terminated_when_dead,
};

struct Transition {
  PodAction pods = PodAction::sync;
  Retain retain = Retain::none;
  Rule rule = Rule::stay;
};

Transition decide(Phase phase, Action action);

// Applies a rule to `status`, whose counters are fresh. True when the phase has changed.
bool apply_rule(Rule rule, const model::VcJobSpec& spec, model::VcJobStatus& status);

std::int64_t total_replicas(const model::VcJobSpec& spec);
// The gang size of a role: minAvailable, or all replicas.
std::int32_t role_min_available(const model::TaskSpec& task);
std::int64_t total_role_min_available(const model::VcJobSpec& spec);

}  // namespace hekla::controllers
