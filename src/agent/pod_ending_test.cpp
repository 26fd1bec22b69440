// In which order, and how long, the containers of an ending pod are asked to go.
#include "agent/pod_worker_fixture_test.h"

namespace hekla::agent {
namespace {

// Two sidecars, a and b, before the container c.
class SidecarEndTest : public PodWorkerTest {
 protected:
  void begin_with_sidecars(const std::string& b_members = "") {
    begin("Never", R"("terminationGracePeriodSeconds":10,"initContainers":[)"
                   R"({"name":"a","image":"host","command":["x"],"restartPolicy":"Always"},)"
                   R"({"name":"b","image":"host","command":["x"],)" + b_members +
                   R"("restartPolicy":"Always"}],)");
    ASSERT_EQ(calls(), "sandbox, launch a#0, launch b#0, launch c#0");
  }
  void remove() {
    change(R"({"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z","deletionGracePeriodSeconds":10}})");
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
  EXPECT_TRUE(gone_);
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
  change(R"({"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z","deletionGracePeriodSeconds":10}})");
  pass(seconds(11));
  EXPECT_EQ(calls(), "TERM");
  pass(seconds(1));
  EXPECT_EQ(calls(), "KILL");
}

}  // namespace
}  // namespace hekla::agent
