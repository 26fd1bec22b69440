#include "controllers/volcano/job/policies.h"

#include <gtest/gtest.h>

namespace hekla::controllers {
namespace {

using namespace std::chrono_literals;

model::LifecyclePolicy on(std::vector<std::string> events, std::string action,
                          std::string timeout = "") {
  model::LifecyclePolicy policy;
  policy.events = std::move(events);
  policy.action = std::move(action);
  policy.timeout = std::move(timeout);
  return policy;
}

model::LifecyclePolicy on_code(std::int32_t code, std::string action) {
  model::LifecyclePolicy policy;
  policy.exitCode = code;
  policy.action = std::move(action);
  return policy;
}

model::VcJob job_with(std::vector<model::LifecyclePolicy> of_job,
                      std::vector<model::LifecyclePolicy> of_task = {}) {
  model::VcJob job;
  job.metadata.uid = "u";
  job.status.version = 2;
  job.spec.policies = std::move(of_job);
  model::TaskSpec task;
  task.name = "w";
  task.policies = std::move(of_task);
  job.spec.tasks.push_back(task);
  return job;
}

Request from_pod(Event event, std::int32_t exit_code = 0) {
  Request request;
  request.event = event;
  request.job_uid = "u";
  request.task = "w";
  request.pod = "j-w-0";
  request.pod_uid = "p0";
  request.version = 2;
  request.exit_code = exit_code;
  return request;
}

TEST(Policies, TaskBeforeJobAndFirstMatchWins) {
  model::VcJob job = job_with({on({"PodFailed"}, "AbortJob"), on({"*"}, "TerminateJob")},
                              {on_code(3, "CompleteJob"), on({"PodFailed"}, "RestartTask")});
  EXPECT_EQ(resolve(job, from_pod(Event::pod_failed, 3)).action, Action::complete_job);
  EXPECT_EQ(resolve(job, from_pod(Event::pod_failed, 4)).action, Action::restart_task);
  EXPECT_EQ(resolve(job, from_pod(Event::pod_evicted)).action, Action::terminate_job);
  EXPECT_EQ(resolve(job, from_pod(Event::task_failed)).action, Action::terminate_job);
}

TEST(Policies, SomeRequestsOnlySync) {
  model::VcJob job = job_with({on({"*"}, "AbortJob")});
  for (Event event : {Event::out_of_sync, Event::command_issued, Event::pod_running, Event::none,
                      Event::pod_pending})
    EXPECT_EQ(resolve(job, from_pod(event)).action, Action::sync) << static_cast<int>(event);
  Request old = from_pod(Event::pod_failed);
  old.version = 1;
  EXPECT_EQ(resolve(job, old).action, Action::sync);
  Request other = from_pod(Event::pod_failed);
  other.job_uid = "earlier";
  EXPECT_EQ(resolve(job, other).action, Action::sync);
  Request unknown;
  unknown.event = Event::job_unknown;
  EXPECT_EQ(resolve(job, unknown).action, Action::abort_job);
}

TEST(Policies, ExplicitActionsWinOverEverything) {
  model::VcJob job = job_with({on({"*"}, "AbortJob")});
  Request command = from_pod(Event::command_issued);
  command.version = 0;
  command.action = Action::resume_job;
  EXPECT_EQ(resolve(job, command).action, Action::resume_job);
}

TEST(Policies, PendingNeedsATimeout) {
  model::VcJob job =
      job_with({on({"PodPending"}, "AbortJob"), on({"PodPending"}, "RestartPod", "90s")});
  Decision decision = resolve(job, from_pod(Event::pod_pending));
  EXPECT_EQ(decision.action, Action::restart_pod);
  EXPECT_EQ(decision.delay, 90s);
}

class Delayed : public ::testing::Test {
 protected:
  WallTime at(Nanos after) const { return WallTime(1000s) + after; }
  DelayedActions delayed_;
};

TEST_F(Delayed, FireInTimeAndOnce) {
  EXPECT_TRUE(delayed_.add(from_pod(Event::pod_failed), Action::restart_job, at(10s)));
  EXPECT_FALSE(delayed_.add(from_pod(Event::pod_failed), Action::restart_job, at(20s)));
  EXPECT_EQ(delayed_.next(), at(10s));
  EXPECT_TRUE(delayed_.take_due(at(9s)).empty());
  EXPECT_EQ(delayed_.take_due(at(10s)).size(), 1u);
  EXPECT_TRUE(delayed_.empty());
}

TEST_F(Delayed, APodThatMovesOnCallsItsOwnOff) {
  delayed_.add(from_pod(Event::pod_pending), Action::abort_job, at(10s));
  Request other = from_pod(Event::pod_running);
  other.pod_uid = "another";
  delayed_.cancel_for(other);
  delayed_.cancel_for(from_pod(Event::pod_updated));
  delayed_.cancel_for(from_pod(Event::pod_pending));
  EXPECT_FALSE(delayed_.empty());
  delayed_.cancel_for(from_pod(Event::pod_running));
  EXPECT_TRUE(delayed_.empty());

  delayed_.add(from_pod(Event::pod_evicted), Action::restart_job, at(10s));
  delayed_.cancel_for(from_pod(Event::pod_failed));
  EXPECT_FALSE(delayed_.empty());
  delayed_.cancel_for(other);  // the pod has come back under another uid
  EXPECT_TRUE(delayed_.empty());
}

TEST_F(Delayed, ActionsReachAsFarAsTheyGo) {
  Request same_task = from_pod(Event::pod_failed);
  same_task.pod = "j-w-1";
  Request other_task = from_pod(Event::pod_failed);
  other_task.task = "x";
  other_task.pod = "j-x-0";
  auto fill = [&] {
    delayed_.clear();
    for (const Request& cause : {from_pod(Event::pod_failed), same_task, other_task})
      delayed_.add(cause, Action::abort_job, at(10s));
  };
  auto left = [&] { return delayed_.take_due(at(10s)).size(); };
  fill();
  delayed_.cancel_reached(Action::sync, from_pod(Event::pod_failed));
  EXPECT_EQ(left(), 3u);
  fill();
  delayed_.cancel_reached(Action::restart_pod, from_pod(Event::pod_failed));
  EXPECT_EQ(left(), 2u);
  fill();
  delayed_.cancel_reached(Action::restart_task, from_pod(Event::pod_failed));
  EXPECT_EQ(left(), 1u);
  fill();
  delayed_.cancel_reached(Action::complete_job, from_pod(Event::pod_failed));
  EXPECT_EQ(left(), 0u);
}

}  // namespace
}  // namespace hekla::controllers
