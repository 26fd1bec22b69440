#include "agent/fake/fake_pod.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

model::Pod pod_with(std::vector<std::string> command) {
  model::Pod pod;
  pod.spec.restartPolicy = "Never";
  pod.spec.containers.emplace_back();
  pod.spec.containers.back().name = "c";
  pod.spec.containers.back().command = std::move(command);
  return pod;
}

TEST(FakePod, PlaysAPlainSleep) {
  EXPECT_EQ(fake_plan(pod_with({"sleep", "10m"})).duration, Nanos(minutes(10)));
  EXPECT_EQ(fake_plan(pod_with({"sh", "-c", "sleep 2; exit 3"})).duration, Nanos(seconds(2)));
  EXPECT_EQ(fake_plan(pod_with({"sh", "-c", "sleep 2; exit 3"})).exit_code, 3);
  EXPECT_EQ(fake_plan(pod_with({"/bin/sh", "-c", "exit 4"})).duration, Nanos(0));
  EXPECT_EQ(fake_plan(pod_with({"/bin/sh", "-c", "exit 4"})).exit_code, 4);
  EXPECT_EQ(fake_plan(pod_with({"sh", "-c", "exit 1; sleep 2"})).duration, std::nullopt);
  EXPECT_EQ(fake_plan(pod_with({"sh", "-c", "exit $code"})).duration, std::nullopt);
  EXPECT_EQ(fake_plan(pod_with({"/bin/sh", "-c", "sleep 0.5"})).duration, Nanos(milliseconds(500)));
}

TEST(FakePod, AnythingElseRunsForEver) {
  EXPECT_FALSE(fake_plan(pod_with({"train"})).duration);
  EXPECT_FALSE(fake_plan(pod_with({"sh", "-c", "sleep 2; rm -rf /tmp/x"})).duration);
  EXPECT_FALSE(fake_plan(pod_with({"sleep", "forever"})).duration);
  EXPECT_FALSE(fake_plan(pod_with({})).duration);
}

TEST(FakePod, AnnotationsWinOverTheCommand) {
  model::Pod pod = pod_with({"sleep", "10m"});
  pod.metadata.annotations["hekla.io/run-duration"] = "1m30s";
  pod.metadata.annotations["hekla.io/exit-code"] = "7";
  EXPECT_EQ(fake_plan(pod).duration, Nanos(seconds(90)));
  EXPECT_EQ(fake_plan(pod).exit_code, 7);
}

TEST(FakePod, AnExitCodeAloneEndsAtOnce) {
  model::Pod pod = pod_with({"train"});
  pod.metadata.annotations["hekla.io/exit-code"] = "1";
  EXPECT_EQ(fake_plan(pod).duration, Nanos(0));
}

TEST(FakePod, RestartPolicyDecidesWhetherAnEndIsTheEnd) {
  model::Pod pod = pod_with({"train"});
  EXPECT_FALSE(fake_restarts(pod, 1));
  pod.spec.restartPolicy = "OnFailure";
  EXPECT_TRUE(fake_restarts(pod, 1));
  EXPECT_FALSE(fake_restarts(pod, 0));
  pod.spec.restartPolicy = "Always";
  EXPECT_TRUE(fake_restarts(pod, 0));
}

TEST(FakePod, StatusesAreWhatAKubeletWouldReport) {
  model::Pod pod = pod_with({"train"});
  WallTime now{};
  json::Value running = fake_running_status(pod, "10.128.0.1", "10.127.0.1", now);
  EXPECT_EQ(json::string_at(running, {"status", "phase"}), "Running");
  EXPECT_EQ(json::array_at(running, {"status", "containerStatuses"})->size(), 1u);
  json::Value failed = fake_finished_status(pod, 2, now);
  EXPECT_EQ(json::string_at(failed, {"status", "phase"}), "Failed");
  const json::Value& container = json::array_at(failed, {"status", "containerStatuses"})->at(0);
  EXPECT_EQ(json::int_at(container, {"state", "terminated", "exitCode"}), 2);
  EXPECT_EQ(json::string_at(container, {"state", "terminated", "reason"}), "Error");
}

}  // namespace
}  // namespace hekla::agent
