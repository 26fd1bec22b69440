// The agent with runc, which stands in where there is no crun.
#include "agent/agent_fixture_test.h"
#include "agent/runtime/programs.h"

namespace hekla::agent {
namespace {

class RuncTest : public AgentTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(find_programs("runc", program_directories())) << "runc is not installed";
    AgentTest::SetUp();
  }
  void TearDown() override {
    if (agent_) AgentTest::TearDown();
  }
  Options options() override {
    Options out = AgentTest::options();
    out.runtime = "runc";
    return out;
  }
};

TEST_F(RuncTest, RunsLimitsAndEndsContainers) {
  create_pod("seven", "echo hello; echo to the other >&2; exit 7");
  create_pod(
      "limited",
      "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null; :",
      "", R"("resources":{"limits":{"memory":"64Mi"}},)");
  create_pod("big", "exec tail /dev/zero", "", R"("resources":{"limits":{"memory":"32Mi"}},)");
  create_pod("filtered",
             "unshare -U true 2>/dev/null || echo refused; cat /proc/sys/kernel/shm_rmid_forced",
             R"("securityContext":{"seccompProfile":{"type":"RuntimeDefault"},
                 "sysctls":[{"name":"kernel.shm_rmid_forced","value":"1"}]},)");
  ASSERT_TRUE(wait_for_phase("seven", "Failed"));
  EXPECT_EQ(json::int_at(terminated("seven"), {"exitCode"}), 7);
  EXPECT_EQ(logs("seven"), "hello\nto the other\n");
  ASSERT_TRUE(wait_for_phase("limited", "Succeeded"));
  EXPECT_EQ(logs("limited"), "67108864\n");
  ASSERT_TRUE(wait_for_phase("big", "Failed"));
  EXPECT_EQ(json::string_at(terminated("big"), {"reason"}), "OOMKilled");
  ASSERT_TRUE(wait_for_phase("filtered", "Succeeded"));
  EXPECT_EQ(logs("filtered"), "refused\n1\n");
}

TEST_F(RuncTest, PodsAreAdoptedAndTerminated) {
  create_pod("polite", "trap 'exit 3' TERM; echo up; while :; do sleep 0.05; done");
  ASSERT_TRUE(wait_for_phase("polite", "Running"));
  drop();
  begin();
  ASSERT_TRUE(soon([&] { return logs("polite") == "up\n"; }));
  delete_pod("polite", 60);
  ASSERT_TRUE(wait_until_deleted("polite"));
}

}  // namespace
}  // namespace hekla::agent
