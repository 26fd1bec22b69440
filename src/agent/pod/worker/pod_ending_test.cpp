// Why a pod ends; in which order, and how long, its containers are asked to go.
#include <algorithm>

#include "agent/pod/worker/pod_worker_fixture_test.h"

namespace hekla::agent {
namespace {

// Two sidecars, a and b, before the container c.
class SidecarEndTest : public PodWorkerTest {
 protected:
  void begin_with_sidecars(const std::string& b_members = "") {
    begin("Never", R"("terminationGracePeriodSeconds":10,"initContainers":[)"
                   R"({"name":"a","image":"host","command":["x"],"restartPolicy":"Always"},)"
                   R"({"name":"b","image":"host","command":["x"],)" +
                       b_members + R"("restartPolicy":"Always"}],)");
    ASSERT_EQ(calls(), "sandbox, launch a#0, launch b#0, launch c#0");
  }
  void remove() {
    change(
        R"({"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z","deletionGracePeriodSeconds":10}})");
  }
};

TEST_F(SidecarEndTest, SidecarsGoLastAndInReverse) {
  begin_with_sidecars();
  remove();
  EXPECT_EQ(calls(), "TERM c");
  pass(seconds(3));
  EXPECT_EQ(calls(), "");
  exit(0, "c");
  EXPECT_EQ(calls(), "TERM b");
  exit(0, "b");
  EXPECT_EQ(calls(), "TERM a");
  exit(0, "a");
  EXPECT_TRUE(node_.gone);
}

TEST_F(SidecarEndTest, AllHaveOneGracePeriod) {
  begin_with_sidecars();
  remove();
  EXPECT_EQ(calls(), "TERM c");
  pass(seconds(9));
  EXPECT_EQ(calls(), "");
  pass(seconds(1));
  EXPECT_EQ(calls(), "TERM a, TERM b, KILL c");
  exit(137, "c");
  calls();
  pass(std::chrono::milliseconds(1900));
  EXPECT_EQ(calls(), "");
  pass(std::chrono::milliseconds(200));
  EXPECT_EQ(calls(), "KILL a, KILL b");
}

TEST_F(SidecarEndTest, TheRestOfTheGracePeriodIsTheSidecars) {
  begin_with_sidecars();
  remove();
  pass(seconds(4));
  exit(0, "c");
  EXPECT_EQ(calls(), "TERM c, TERM b");
  pass(seconds(5));
  EXPECT_EQ(calls(), "");
  pass(seconds(1));
  EXPECT_EQ(calls(), "TERM a, KILL b");
}

TEST_F(SidecarEndTest, HooksDoNotWaitForTheirTurn) {
  begin_with_sidecars(R"("lifecycle":{"preStop":{"exec":{"command":["bye"]}}},)");
  remove();
  EXPECT_EQ(machine_.probed, std::vector<std::string>{"bye"});
  EXPECT_EQ(calls(), "TERM c");
  exit(0, "c");
  EXPECT_EQ(calls(), "TERM b");
}

TEST_F(SidecarEndTest, WorkThatIsDoneLeavesThemTheSameOrder) {
  begin_with_sidecars();
  exit(0, "c");
  EXPECT_EQ(calls(), "remove c, TERM b");
  exit(0, "b");
  EXPECT_EQ(calls(), "remove b, TERM a");
  exit(0, "a");
  EXPECT_EQ(phase(), "Succeeded");
}

TEST_F(SidecarEndTest, ForceSparesNobody) {
  begin_with_sidecars();
  worker_->vanish();
  EXPECT_EQ(calls(), "KILL a, KILL b, KILL c, KILL a, KILL b, KILL c");
}

TEST_F(PodWorkerTest, AHookThatTookAllTheTimeLeavesAMoment) {
  begin("Never", "", "host", R"("lifecycle":{"preStop":{"sleep":{"seconds":10}}},)");
  calls();
  change(
      R"({"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z","deletionGracePeriodSeconds":10}})");
  pass(seconds(11));
  EXPECT_EQ(calls(), "TERM");
  pass(seconds(1));
  EXPECT_EQ(calls(), "KILL");
}

TEST_F(PodWorkerTest, TermThenKillThenTheObjectGoes) {
  begin("Always");
  calls();
  change(
      R"({"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z","deletionGracePeriodSeconds":30}})");
  EXPECT_EQ(calls(), "TERM");
  pass(seconds(29));
  EXPECT_EQ(calls(), "");
  pass(seconds(1));
  EXPECT_EQ(calls(), "KILL");
  exit(137);
  EXPECT_EQ(calls(), "remove c, erase, release");
  EXPECT_EQ(api_.find(kube::resources::pods, {"default", "p"}), nullptr);
  EXPECT_TRUE(has_event("Killing", "Stopping container c"));
}

TEST_F(PodWorkerTest, TheImageSaysWhichSignalStopsIt) {
  StoredImage image;
  image.name = "docker.io/library/nginx:1.25";
  image.config.stop_signal = "SIGQUIT";
  machine_.images[image.name] = image;
  begin("Never", "", "nginx:1.25");
  calls();
  change(
      R"({"metadata":{"deletionTimestamp":"2023-11-14T22:13:30Z","deletionGracePeriodSeconds":5}})");
  EXPECT_EQ(calls(), "QUIT");
  pass(seconds(6));
  EXPECT_EQ(calls(), "KILL");
}

TEST_F(PodWorkerTest, AShorterGraceCounts) {
  begin("Always");
  change(
      R"({"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z","deletionGracePeriodSeconds":30}})");
  pass(seconds(3));
  calls();
  change(R"({"metadata":{"deletionGracePeriodSeconds":2}})");
  EXPECT_EQ(calls(), "KILL");
}

TEST_F(PodWorkerTest, TheDeadlineFailsThePod) {
  begin("Always", R"("activeDeadlineSeconds":60,"terminationGracePeriodSeconds":5,)");
  pass(seconds(59));
  EXPECT_EQ(phase(), "Running");
  pass(seconds(1));
  exit(143);
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "DeadlineExceeded");
  EXPECT_EQ(json::string_at(object(), {"status", "message"}),
            "Pod was active on the node longer than the specified deadline");
  EXPECT_EQ(calls(), "sandbox, launch c#0, TERM, remove c, dismantle, release");
  EXPECT_FALSE(node_.gone);
}

TEST_F(PodWorkerTest, AnEvictedPodFailsAndStaysInTheApi) {
  begin("Always", R"("terminationGracePeriodSeconds":50,)");
  worker_->evict("The node was low on resource: memory. ", seconds(1));
  simulation_.run_until_idle();
  EXPECT_EQ(calls(), "sandbox, launch c#0, TERM");
  pass(seconds(2));
  EXPECT_EQ(calls(), "KILL") << "its own grace period does not count";
  exit(137);
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "Evicted");
  EXPECT_EQ(json::string_at(object(), {"status", "message"}),
            "The node was low on resource: memory. ");
  const model::PodStatus status = decoded().status;
  auto target =
      std::ranges::find(status.conditions, "DisruptionTarget", &model::PodCondition::type);
  ASSERT_NE(target, status.conditions.end());
  EXPECT_EQ(target->status, "True");
  EXPECT_EQ(target->reason, "TerminationByKubelet");
  EXPECT_TRUE(has_event("Evicted", "The node was low on resource: memory. "));
  EXPECT_EQ(calls(), "remove c, dismantle, release");
  EXPECT_FALSE(node_.gone);
  worker_->evict("again", seconds(0));
  EXPECT_EQ(json::string_at(object(), {"status", "message"}),
            "The node was low on resource: memory. ");
}

TEST_F(PodWorkerTest, WhatCannotBeDismantledIsTriedAgainLater) {
  machine_.dismantle_failure = "busy";
  begin("Never", R"("os":{"name":"windows"},)");
  pass(seconds(9));
  EXPECT_EQ(calls(), "dismantle");
  machine_.dismantle_failure.clear();
  pass(seconds(60));
  EXPECT_EQ(calls(), "dismantle, release");
}

TEST_F(PodWorkerTest, ShutdownReportsATermination) {
  begin("Always");
  calls();
  worker_->shut_down();
  simulation_.run_until_idle();
  EXPECT_EQ(calls(), "TERM");
  exit(0);
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "Terminated");
  EXPECT_EQ(calls(), "remove c, erase, release");
  EXPECT_TRUE(node_.gone);
}

TEST_F(PodWorkerTest, AVanishedPodIsKilledWithoutGrace) {
  begin("Always");
  calls();
  worker_->vanish();
  simulation_.run_until_idle();
  EXPECT_EQ(calls(), "KILL, KILL");
  exit(137);
  EXPECT_EQ(calls(), "remove c, erase, release");
}

}  // namespace
}  // namespace hekla::agent
