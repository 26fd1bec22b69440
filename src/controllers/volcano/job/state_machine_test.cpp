#include "controllers/volcano/job/state_machine.h"

#include <gtest/gtest.h>

namespace hekla::controllers {
namespace {

constexpr Phase kPhases[] = {
    Phase::pending,    Phase::aborting,  Phase::aborted,     Phase::running,    Phase::restarting,
    Phase::completing, Phase::completed, Phase::terminating, Phase::terminated, Phase::failed};
constexpr Action kActions[] = {Action::sync,          Action::abort_job,
                               Action::restart_job,   Action::restart_task,
                               Action::restart_pod,   Action::restart_partition,
                               Action::terminate_job, Action::complete_job,
                               Action::resume_job,    Action::other};

bool is_targeted(Action action) {
  return action == Action::restart_task || action == Action::restart_pod ||
         action == Action::restart_partition;
}

// The table once more, in the words of the contract.
Transition wanted(Phase phase, Action action) {
  switch (phase) {
    case Phase::pending:
    case Phase::running:
      if (is_targeted(action)) return {PodAction::kill_target, Retain::none, Rule::to_restarting};
      if (action == Action::restart_job)
        return {PodAction::kill_job, Retain::none, Rule::to_restarting};
      if (action == Action::abort_job)
        return {PodAction::kill_job, Retain::soft, Rule::to_aborting};
      if (action == Action::complete_job)
        return {PodAction::kill_job, Retain::soft, Rule::to_completing};
      if (action == Action::terminate_job)
        return {PodAction::kill_job, Retain::soft, Rule::to_terminating};
      return {PodAction::sync, Retain::none,
              phase == Phase::pending ? Rule::pending_rule : Rule::running_rule};
    case Phase::restarting:
      if (action == Action::sync) return {PodAction::sync, Retain::none, Rule::restart_rule};
      if (is_targeted(action)) return {PodAction::kill_target, Retain::none, Rule::restart_rule};
      return {PodAction::kill_job, Retain::none, Rule::restart_rule};
    case Phase::aborting:
      return {PodAction::kill_job, Retain::soft,
              action == Action::resume_job ? Rule::resumed : Rule::aborted_when_dead};
    case Phase::aborted:
      return {PodAction::kill_job, Retain::soft,
              action == Action::resume_job ? Rule::resumed : Rule::stay};
    case Phase::completing:
      return {PodAction::kill_job, Retain::soft, Rule::completed_when_dead};
    case Phase::terminating:
      return {PodAction::kill_job, Retain::soft, Rule::terminated_when_dead};
    default:
      return {PodAction::kill_job, Retain::soft, Rule::stay};
  }
}

TEST(StateMachine, DecidesEveryPhaseAndAction) {
  for (Phase phase : kPhases)
    for (Action action : kActions) {
      Transition got = decide(phase, action), want = wanted(phase, action);
      EXPECT_EQ(got.pods, want.pods) << text(phase) << " " << text(action);
      EXPECT_EQ(got.rule, want.rule) << text(phase) << " " << text(action);
      bool kills = got.pods == PodAction::kill_job;
      EXPECT_TRUE(!kills || got.retain == want.retain) << text(phase) << " " << text(action);
    }
}

TEST(StateMachine, NamesComeBack) {
  for (Phase phase : kPhases) EXPECT_EQ(parse_phase(text(phase)), phase);
  for (Action action : kActions) EXPECT_EQ(parse_action(text(action)), action);
  EXPECT_EQ(parse_phase(""), Phase::pending);
  EXPECT_EQ(parse_action("OpenQueue"), Action::other);
}

struct Pods {
  int pending = 0, running = 0, succeeded = 0, failed = 0, terminating = 0;
};

model::VcJobSpec spec_of(std::vector<std::pair<int, std::optional<int>>> roles, int min_available) {
  model::VcJobSpec spec;
  spec.minAvailable = min_available;
  spec.maxRetry = 3;
  for (const auto& [replicas, minimum] : roles) {
    model::TaskSpec task;
    task.name = "t" + std::to_string(spec.tasks.size());
    task.replicas = replicas;
    task.minAvailable = minimum;
    spec.tasks.push_back(task);
  }
  return spec;
}

std::string after(Rule rule, Phase phase, const model::VcJobSpec& spec, Pods pods,
                  std::vector<int> succeeded_of_roles = {}, int retries = 0) {
  model::VcJobStatus status;
  status.state.phase = text(phase);
  status.minAvailable = spec.minAvailable;
  status.pending = pods.pending;
  status.running = pods.running;
  status.succeeded = pods.succeeded;
  status.failed = pods.failed;
  status.terminating = pods.terminating;
  status.retryCount = retries;
  for (std::size_t i = 0; i < succeeded_of_roles.size(); ++i)
    status.taskStatusCount["t" + std::to_string(i)].phase["Succeeded"] = succeeded_of_roles[i];
  bool changed = apply_rule(rule, spec, status);
  EXPECT_EQ(changed, status.state.phase != text(phase));
  return status.state.phase;
}

TEST(StateMachine, PendingBecomesRunningWithEnoughPods) {
  model::VcJobSpec spec = spec_of({{3, 3}}, 2);
  EXPECT_EQ(after(Rule::pending_rule, Phase::pending, spec, {.running = 1}), "Pending");
  EXPECT_EQ(after(Rule::pending_rule, Phase::pending, spec, {.running = 1, .failed = 1}),
            "Running");
  EXPECT_EQ(after(Rule::pending_rule, Phase::pending, spec, {.succeeded = 2}), "Running");
}

TEST(StateMachine, RunningEndsByItsPods) {
  model::VcJobSpec spec = spec_of({{2, 2}, {2, 1}}, 3);
  auto run = [&](Pods pods, std::vector<int> roles = {}) {
    return after(Rule::running_rule, Phase::running, spec, pods, std::move(roles));
  };
  EXPECT_EQ(run({.running = 4}), "Running");
  EXPECT_EQ(run({.pending = 2, .running = 2}), "Pending");  // more than 4 - 3 wait
  EXPECT_EQ(run({.pending = 1, .running = 3}), "Running");
  EXPECT_EQ(run({.succeeded = 3, .failed = 1}, {2, 1}), "Completed");
  EXPECT_EQ(run({.succeeded = 3, .failed = 1}, {1, 2}), "Failed");  // the first role needs two
  EXPECT_EQ(run({.succeeded = 2, .failed = 2}, {2, 0}), "Failed");
  spec.minAvailable = 2;  // below the roles' sum: only the total counts
  EXPECT_EQ(run({.succeeded = 2, .failed = 2}, {0, 2}), "Completed");
  EXPECT_EQ(run({.succeeded = 1, .failed = 3}, {0, 1}), "Failed");
  spec.minSuccess = 3;
  EXPECT_EQ(run({.running = 1, .succeeded = 3}), "Completed");
  EXPECT_EQ(run({.succeeded = 2, .failed = 2}, {0, 2}), "Failed");
  EXPECT_EQ(after(Rule::running_rule, Phase::running, spec_of({{0, 0}}, 0), {}), "Running");
}

TEST(StateMachine, RestartsAreCounted) {
  model::VcJobSpec spec = spec_of({{3, 3}}, 2);
  auto restart = [&](Pods pods, int retries) {
    return after(Rule::restart_rule, Phase::restarting, spec, pods, {}, retries);
  };
  EXPECT_EQ(restart({.terminating = 2}, 1), "Restarting");
  EXPECT_EQ(restart({.terminating = 1}, 1), "Pending");
  EXPECT_EQ(restart({}, 2), "Pending");
  EXPECT_EQ(restart({.terminating = 3}, 3), "Failed");

  model::VcJobStatus status;
  status.state.phase = "Running";
  EXPECT_TRUE(apply_rule(Rule::to_restarting, spec, status));
  EXPECT_EQ(status.state.phase, "Restarting");
  EXPECT_EQ(status.retryCount, 1);
}

TEST(StateMachine, DyingPhasesWaitForTheLastPod) {
  model::VcJobSpec spec = spec_of({{1, 1}}, 1);
  struct Case {
    Rule rule;
    Phase phase;
    const char* end;
  };
  for (const Case& c : {Case{Rule::aborted_when_dead, Phase::aborting, "Aborted"},
                        Case{Rule::completed_when_dead, Phase::completing, "Completed"},
                        Case{Rule::terminated_when_dead, Phase::terminating, "Terminated"}}) {
    for (Pods alive : {Pods{.pending = 1}, Pods{.running = 1}, Pods{.terminating = 1}})
      EXPECT_EQ(after(c.rule, c.phase, spec, alive), text(c.phase));
    EXPECT_EQ(after(c.rule, c.phase, spec, {.succeeded = 1, .failed = 1}), c.end);
  }
}

}  // namespace
}  // namespace hekla::controllers
