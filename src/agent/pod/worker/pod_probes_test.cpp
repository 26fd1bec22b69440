// Probes and hooks, and what they make of a container.
#include <algorithm>

#include "agent/pod/worker/pod_worker_fixture_test.h"

namespace hekla::agent {
namespace {

class ProbingTest : public PodWorkerTest {
 protected:
  // A pod whose container has the given members.
  void begin_with(const std::string& members, const std::string& spec_members = "") {
    begin("Always", R"("terminationGracePeriodSeconds":20,)" + spec_members, "host", members);
  }
  static std::string probe(const char* word, int period, int failures) {
    return R"({"exec":{"command":[")" + std::string(word) + R"("]},"periodSeconds":)" +
           std::to_string(period) + R"(,"failureThreshold":)" + std::to_string(failures) + "}";
  }
};

TEST_F(ProbingTest, ReadinessComesAndGoes) {
  machine_.failing = {"ready"};
  begin_with(R"("readinessProbe":)" + probe("ready", 5, 2) + ",");
  EXPECT_EQ(phase(), "Running");
  EXPECT_FALSE(container().ready);
  EXPECT_TRUE(has_event("Unhealthy", "Readiness probe failed: no ready"));
  machine_.failing.clear();
  pass(seconds(5));
  EXPECT_TRUE(container().ready);
  machine_.failing = {"ready"};
  pass(seconds(5));
  EXPECT_TRUE(container().ready) << "one failure is below the threshold";
  pass(seconds(5));
  EXPECT_FALSE(container().ready);
  EXPECT_EQ(container().restartCount, 0);
}

TEST_F(ProbingTest, NothingIsReadyBeforeItsFirstProbe) {
  bool ready = false;
  node_.on_change = [&] { ready = ready || is_ready(worker_->status()); };
  machine_.failing = {"ready"};
  begin_with(R"("readinessProbe":)" + probe("ready", 5, 2) + ",");
  exit(1);
  EXPECT_EQ(container().restartCount, 1);
  EXPECT_FALSE(ready);
  machine_.failing.clear();
  pass(seconds(5));
  EXPECT_TRUE(ready);
}

TEST_F(ProbingTest, NothingHasStartedBeforeItsStartupProbe) {
  std::set<bool> started;
  machine_.failing = {"up"};
  api_.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    const json::Array* all = json::array_at(write.body, {"status", "containerStatuses"});
    for (std::size_t i = 0; all && i < all->size(); ++i)
      started.insert(json::bool_at(all->at(i), {"started"}) ||
                     json::bool_at(all->at(i), {"ready"}));
    return std::nullopt;
  };
  begin_with(R"("startupProbe":)" + probe("up", 5, 9) + ",");
  EXPECT_EQ(started, std::set<bool>{false});
}

TEST_F(ProbingTest, WithoutProbesAContainerIsReadyAtOnce) {
  int unready = 0;
  api_.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    const json::Array* all = json::array_at(write.body, {"status", "containerStatuses"});
    if (all && json::find_path(all->at(0), {"state", "running"}) &&
        !json::bool_at(all->at(0), {"ready"}))
      ++unready;
    return std::nullopt;
  };
  begin_with("");
  EXPECT_TRUE(container().ready);
  EXPECT_EQ(unready, 0) << "a status that is wrong, and one write too many";
}

TEST_F(ProbingTest, AnAdoptedContainerIsWhatItWas) {
  begin_with(R"("startupProbe":)" + probe("up", 5, 2) + R"(,"readinessProbe":)" +
             probe("ready", 5, 2) +
             R"(,"livenessProbe":{"exec":{"command":["alive"]},"initialDelaySeconds":60},)");
  pass(seconds(30));
  ASSERT_TRUE(container().ready);
  const PodRecord record = worker_->record();
  worker_.reset();  // the process is killed
  machine_.failing = {"ready"};
  machine_.probed.clear();
  worker_ =
      std::make_shared<PodWorker>(context_, std::make_shared<AgentPod>(decoded()), record, true);
  worker_->start();
  simulation_.run_until_idle();
  EXPECT_TRUE(container().ready) << "one failure is below the threshold";
  EXPECT_EQ(machine_.probed, std::vector<std::string>{"ready"}) << "it has started once";
  pass(seconds(5));
  EXPECT_FALSE(container().ready);
  pass(seconds(26));
  EXPECT_EQ(std::ranges::count(machine_.probed, "alive"), 1)
      << "sixty seconds after the container's start";
}

TEST_F(ProbingTest, LivenessKillsAndTheContainerStartsAgain) {
  begin_with(R"("livenessProbe":)" + probe("alive", 10, 2) + ",");
  EXPECT_TRUE(container().ready);
  calls();
  machine_.failing = {"alive"};
  pass(seconds(21));
  EXPECT_EQ(calls(), "TERM");
  EXPECT_TRUE(has_event("Killing", "Container c failed liveness probe, will be restarted"));
  pass(seconds(20));
  EXPECT_EQ(calls(), "KILL");
  machine_.failing.clear();
  exit(137);
  EXPECT_EQ(calls(), "remove c, launch c#1");
  EXPECT_EQ(container().restartCount, 1);
  EXPECT_EQ(container().lastState.terminated->exitCode, 137);
  pass(std::chrono::minutes(5));
  EXPECT_EQ(calls(), "") << "the new run has a clean slate";
}

TEST_F(ProbingTest, StartupHoldsTheOthersBack) {
  machine_.failing = {"up", "alive"};
  begin_with(R"("startupProbe":)" + probe("up", 5, 10) + R"(,"livenessProbe":)" +
             probe("alive", 1, 1) + ",");
  calls();
  pass(seconds(12));
  EXPECT_EQ(calls(), "");
  EXPECT_FALSE(container().started.value_or(true));
  EXPECT_EQ(std::ranges::count(machine_.probed, "alive"), 0);
  machine_.failing.clear();
  pass(seconds(5));
  EXPECT_TRUE(container().started.value_or(false));
  pass(seconds(2));
  EXPECT_GT(std::ranges::count(machine_.probed, "alive"), 0);
  EXPECT_EQ(calls(), "");
}

TEST_F(ProbingTest, HooksRunAtBothEnds) {
  begin_with(R"("lifecycle":{"postStart":{"exec":{"command":["hello"]}},)"
             R"("preStop":{"exec":{"command":["bye"]}}},)");
  EXPECT_EQ(machine_.probed, std::vector<std::string>{"hello"});
  EXPECT_TRUE(container().ready);
  calls();
  change(
      R"({"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z","deletionGracePeriodSeconds":20}})");
  EXPECT_EQ(machine_.probed, (std::vector<std::string>{"hello", "bye"}));
  EXPECT_EQ(calls(), "TERM");
}

TEST_F(ProbingTest, AFailedPostStartHookEndsTheContainer) {
  machine_.failing = {"hello"};
  begin_with(R"("lifecycle":{"postStart":{"exec":{"command":["hello"]}}},)");
  EXPECT_EQ(calls(), "sandbox, launch c#0, TERM");
  EXPECT_TRUE(has_event("FailedPostStartHook", "PostStartHook failed"));
}

TEST_F(ProbingTest, SidecarsMustHaveStartedFirst) {
  machine_.failing = {"up"};
  begin_with("", R"("initContainers":[{"name":"s","image":"host","command":["x"],)"
                 R"("restartPolicy":"Always","startupProbe":)" +
                     probe("up", 5, 10) + "}],");
  EXPECT_EQ(calls(), "sandbox, launch s#0");
  pass(seconds(6));
  EXPECT_EQ(calls(), "");
  EXPECT_EQ(phase(), "Pending");
  machine_.failing.clear();
  pass(seconds(5));
  EXPECT_EQ(calls(), "launch c#0");
  EXPECT_EQ(phase(), "Running");
}

}  // namespace
}  // namespace hekla::agent
