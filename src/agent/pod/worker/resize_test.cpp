// Other resources for containers that run.
#include "agent/pod/worker/pod_worker_fixture_test.h"

namespace hekla::agent {
namespace {

class ResizeTest : public PodWorkerTest {
 protected:
  static std::string spec(const std::string& amounts) {
    return R"("resources":{"limits":)" + amounts + R"(,"requests":)" + amounts + "},";
  }
  void resize(const std::string& amounts) {
    change((R"({"spec":{"containers":[{"name":"c","image":"host","command":["x"],)" + more_ +
            R"("resources":{"limits":)" + amounts + R"(,"requests":)" + amounts + "}}]}}")
               .c_str());
  }
  std::string status(std::initializer_list<std::string_view> path) {
    const json::Array* statuses = json::array_at(object(), {"status", "containerStatuses"});
    const json::Value* found = json::find_path(statuses->at(0), path);
    return found ? json::serialize(*found) : "";
  }
  std::string condition(const std::string& type) {
    for (const model::PodCondition& one : decoded().status.conditions)
      if (one.type == type) return one.status + "/" + one.reason + "/" + one.message;
    return "";
  }
  std::string more_;
};

TEST_F(ResizeTest, ARunningContainerIsGivenOtherLimits) {
  begin("Never", "", "host", spec(R"({"cpu":"1","memory":"1Gi"})"));
  EXPECT_EQ(status({"resources", "limits"}), R"({"cpu":"1","memory":"1Gi"})");
  calls();
  resize(R"({"cpu":"2","memory":"2Gi"})");
  EXPECT_EQ(calls(), "resize 2000m 2147483648");
  EXPECT_EQ(machine_.resized_pod.cpu_limit_milli, 2000) << "the pod as a whole follows";
  EXPECT_EQ(machine_.resized_pod.memory_limit_bytes, 2LL << 30);
  EXPECT_EQ(status({"resources", "limits"}), R"({"cpu":"2","memory":"2Gi"})");
  EXPECT_EQ(status({"allocatedResources"}), R"({"cpu":"2","memory":"2Gi"})");
  EXPECT_EQ(container().restartCount, 0);
  pass(seconds(30));
  EXPECT_EQ(calls(), "") << "once is enough";
}

TEST_F(ResizeTest, TheNextProcessKnowsThatItIsDone) {
  begin("Never", "", "host", spec(R"({"cpu":"1","memory":"1Gi"})"));
  resize(R"({"cpu":"2","memory":"2Gi"})");
  calls();
  worker_ = std::make_shared<PodWorker>(context_, std::make_shared<AgentPod>(decoded()),
                                        machine_.saved, true);
  worker_->start();
  simulation_.run_until_idle();
  EXPECT_EQ(calls(), "");
}

TEST_F(ResizeTest, WhatTheNodeDoesNotHaveIsWaitedFor) {
  node_.refusal = Refusal{"Deferred", "no room"};
  begin("Never", "", "host", spec(R"({"cpu":"1"})"));
  calls();
  resize(R"({"cpu":"4"})");
  EXPECT_EQ(calls(), "");
  EXPECT_EQ(condition("PodResizePending"), "True/Deferred/no room");
  EXPECT_EQ(status({"resources", "limits"}), R"({"cpu":"1"})");
  node_.refusal.reset();
  pass(seconds(11));
  EXPECT_EQ(calls(), "resize 4000m 0");
  EXPECT_EQ(status({"resources", "limits"}), R"({"cpu":"4"})");
  change("{}");  // the worker hears what it wrote
  EXPECT_EQ(condition("PodResizePending"), "");
  EXPECT_EQ(condition("PodResizeInProgress"), "");
}

TEST_F(ResizeTest, WhatFailsIsSaidAndTriedAgain) {
  machine_.resize_failure = "in use";
  begin("Never", "", "host", spec(R"({"memory":"2Gi"})"));
  calls();
  resize(R"({"memory":"1Gi"})");
  EXPECT_EQ(condition("PodResizeInProgress"), "True/Error/in use");
  EXPECT_EQ(status({"resources", "limits"}), R"({"memory":"2Gi"})");
  EXPECT_EQ(calls(), "resize 0m 1073741824");
  machine_.resize_failure.clear();
  pass(seconds(11));
  EXPECT_EQ(calls(), "resize 0m 1073741824");
  EXPECT_EQ(status({"resources", "limits"}), R"({"memory":"1Gi"})");
}

TEST_F(ResizeTest, AnotherRunWhereTheSpecWantsOne) {
  more_ = R"("resizePolicy":[{"resourceName":"memory","restartPolicy":"RestartContainer"}],)";
  begin("Always", "", "host", more_ + spec(R"({"cpu":"1","memory":"1Gi"})"));
  calls();
  resize(R"({"cpu":"2","memory":"1Gi"})");
  EXPECT_EQ(calls(), "resize 2000m 1073741824") << "cpu needs no restart";
  resize(R"({"cpu":"2","memory":"2Gi"})");
  EXPECT_EQ(calls(), "TERM");
  exit(143);
  EXPECT_EQ(calls(), "remove c, launch c#1");
  EXPECT_EQ(status({"resources", "limits"}), R"({"cpu":"2","memory":"2Gi"})");
}

}  // namespace
}  // namespace hekla::agent
