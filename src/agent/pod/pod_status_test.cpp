#include "agent/pod/pod_status.h"

#include <gtest/gtest.h>

#include "json/codec.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

const WallTime kNow{std::chrono::seconds(1'700'000'000)};

class PodStatusTest : public ::testing::Test {
 protected:
  PodStatusTest()
      : pod_(json::decode_text<model::Pod>(R"({"metadata":{"name":"p","uid":"u"},"spec":{
            "initContainers":[{"name":"i","image":"host"}],
            "containers":[{"name":"a","image":"host"},{"name":"b","image":"host"}]},
            "status":{"qosClass":"BestEffort"}})")
                 .value()),
        record_(new_record(pod_, kNow)) {}

  model::PodStatus status(std::map<std::string, WaitingReason> waiting = {}) {
    return compute_status({pod_, record_, std::move(waiting), "192.168.0.1", "10.244.0.2", kNow,
                           pod_.status.conditions});
  }
  void set(std::size_t i, const std::string& phase, int code = 0) {
    ContainerRun run;
    run.id = "id" + std::to_string(i);
    run.phase = phase;
    run.exit_code = code;
    run.started_ns = to_ns(kNow);
    if (phase == run_phase::exited) run.finished_ns = to_ns(kNow);
    record_.containers[i].attempts = 1;
    record_.containers[i].current = run;
  }
  static std::string condition(const model::PodStatus& status, const std::string& type) {
    for (const model::PodCondition& one : status.conditions)
      if (one.type == type) return one.status + "/" + one.reason + "/" + one.message;
    return "";
  }
  static std::string waiting(const model::ContainerStatus& container) {
    return container.state.waiting ? container.state.waiting->reason : "";
  }

  model::Pod pod_;
  PodRecord record_;
};

TEST_F(PodStatusTest, BeginsPending) {
  model::PodStatus now = status();
  EXPECT_EQ(now.phase, "Pending");
  EXPECT_EQ(waiting(now.initContainerStatuses[0]), "PodInitializing");
  EXPECT_EQ(waiting(now.containerStatuses[0]), "PodInitializing");
  EXPECT_EQ(condition(now, "Initialized"),
            "False/ContainersNotInitialized/containers with incomplete status: [i]");
  EXPECT_EQ(condition(now, "Ready"),
            "False/ContainersNotReady/containers with unready status: [a b]");
  EXPECT_EQ(condition(now, "PodReadyToStartContainers"), "False//");
}

TEST_F(PodStatusTest, AnInitContainerIsReadyOnlyWhenItHasDoneItsWork) {
  set(0, run_phase::running);
  EXPECT_FALSE(status().initContainerStatuses[0].ready);
  EXPECT_EQ(condition(status(), "Initialized"),
            "False/ContainersNotInitialized/containers with incomplete status: [i]");
  set(0, run_phase::exited, 1);
  EXPECT_FALSE(status().initContainerStatuses[0].ready);
  set(0, run_phase::exited);
  EXPECT_TRUE(status().initContainerStatuses[0].ready);
}

TEST_F(PodStatusTest, RunsWhenAllHaveBegun) {
  set(0, run_phase::exited);
  set(1, run_phase::running);
  EXPECT_EQ(status().phase, "Pending");
  set(2, run_phase::running);
  record_.sandbox = true;
  model::PodStatus now = status();
  EXPECT_EQ(now.phase, "Running");
  EXPECT_EQ(condition(now, "Ready"), "True//");
  EXPECT_EQ(condition(now, "Initialized"), "True//");
  EXPECT_TRUE(is_ready(now));
  EXPECT_EQ(now.containerStatuses[0].containerID, "hekla://id1");
  EXPECT_EQ(now.initContainerStatuses[0].state.terminated->reason, "Completed");
}

TEST_F(PodStatusTest, OneEndedContainerMakesItUnready) {
  set(0, run_phase::exited);
  set(1, run_phase::exited, 1);
  set(2, run_phase::running);
  model::PodStatus now = status();
  EXPECT_EQ(now.phase, "Running");
  EXPECT_EQ(condition(now, "Ready"),
            "False/ContainersNotReady/containers with unready status: [a]");
  EXPECT_EQ(now.containerStatuses[0].state.terminated->reason, "Error");
}

TEST_F(PodStatusTest, CrashLoopKeepsTheLastEnd) {
  set(0, run_phase::exited);
  set(1, run_phase::exited, 2);
  set(2, run_phase::running);
  record_.containers[1].attempts = 3;
  model::PodStatus now = status({{"a", {"CrashLoopBackOff", "back-off 20s"}}});
  const model::ContainerStatus& a = now.containerStatuses[0];
  EXPECT_EQ(waiting(a), "CrashLoopBackOff");
  EXPECT_EQ(a.lastState.terminated->exitCode, 2);
  EXPECT_EQ(a.restartCount, 2);
  EXPECT_EQ(now.phase, "Running");
}

TEST_F(PodStatusTest, OutcomesAreFinal) {
  set(0, run_phase::exited);
  set(1, run_phase::exited);
  set(2, run_phase::exited);
  record_.outcome = "Succeeded";
  EXPECT_EQ(condition(status(), "Ready"), "False/PodCompleted/");
  EXPECT_EQ(condition(status(), "Initialized"), "True/PodCompleted/");
  record_.outcome = "Failed";
  record_.reason = "DeadlineExceeded";
  EXPECT_EQ(condition(status(), "Ready"), "False/PodFailed/");
  EXPECT_EQ(status().reason, "DeadlineExceeded");
}

TEST_F(PodStatusTest, TransitionTimesMoveOnlyWithTheStatus) {
  WallTime earlier = kNow - std::chrono::hours(1);
  pod_.status.conditions = {
      {.type = "Ready", .status = "False", .lastTransitionTime = earlier},
      {.type = "Initialized", .status = "True", .lastTransitionTime = earlier}};
  for (const model::PodCondition& one : status().conditions) {
    if (one.type != "Ready" && one.type != "Initialized") continue;
    EXPECT_EQ(one.lastTransitionTime, model::Time(one.type == "Ready" ? earlier : kNow));
  }
}

TEST_F(PodStatusTest, ThePatchIsCompleteAndGuarded) {
  set(0, run_phase::exited);
  json::Value patch = status_patch(record_, status());
  EXPECT_EQ(json::string_at(patch, {"metadata", "uid"}), "u");
  EXPECT_EQ(json::string_at(json::array_at(patch, {"status", "podIPs"})->at(0), {"ip"}),
            "10.244.0.2");
  const json::Value& init = json::array_at(patch, {"status", "initContainerStatuses"})->at(0);
  EXPECT_EQ(json::int_at(init, {"state", "terminated", "exitCode"}, -1), 0);
  EXPECT_EQ(json::int_at(init, {"restartCount"}, -1), 0);
  const json::Value& main = json::array_at(patch, {"status", "containerStatuses"})->at(0);
  EXPECT_FALSE(json::bool_at(main, {"ready"}, true));
  EXPECT_EQ(json::string_at(main, {"image"}), "host");
  EXPECT_TRUE(json::find_path(patch, {"status", "reason"})->is_null());
}

TEST(PodRecord, APodWithoutTracesIsLostNotRunAgain) {
  model::Pod pod = json::decode_text<model::Pod>(R"({"metadata":{"name":"p","uid":"u"},"spec":{
      "containers":[{"name":"a"},{"name":"b"}]},"status":{"phase":"Running","containerStatuses":[
      {"name":"a","containerID":"hekla://x","restartCount":2,
       "state":{"running":{"startedAt":"2024-01-01T00:00:00Z"}}},
      {"name":"b","state":{"waiting":{"reason":"ContainerCreating"}}}]}})")
                       .value();
  PodRecord record = new_record(pod, kNow);
  mark_lost(record, pod);
  EXPECT_EQ(record.containers[0].current->reason, "ContainerStatusUnknown");
  EXPECT_EQ(record.containers[0].current->exit_code, 137);
  EXPECT_EQ(record.containers[0].attempts, 3);
  EXPECT_FALSE(record.containers[1].current);
}

TEST(PodRecord, SurvivesItsFile) {
  PodRecord record;
  record.uid = "u";
  record.address = "10.244.0.2";
  record.containers.push_back(
      {.name = "a", .attempts = 2, .current = ContainerRun{.id = "x", .attempt = 1}});
  std::string text = json::serialize(json::encode(record));
  PodRecord back = json::decode_text<PodRecord>(text).value();
  EXPECT_EQ(json::serialize(json::encode(back)), text);
  EXPECT_EQ(back.containers[0].current->id, "x");
  EXPECT_FALSE(back.containers[0].previous);
}

}  // namespace
}  // namespace hekla::agent
