#include "agent/runtime/cgroup.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

TEST(Cgroup, ReadsOomKillsOfBothVersions) {
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), 3);
  EXPECT_EQ(parse_oom_kills("low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\noom_group_kill 0\n"), 1);
  EXPECT_EQ(parse_oom_kills("oom_kill 12\n"), 12);
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\n"), 0);
  EXPECT_EQ(parse_oom_kills(""), 0);
}

TEST(CgroupDeathTest, WillNotRemoveWhatIsNotOurs) {
  EXPECT_DEATH((void)remove_cgroup(""), "hekla-");
  EXPECT_DEATH((void)remove_cgroup("/"), "hekla-");
  EXPECT_DEATH((void)remove_cgroup("/hekla-"), "hekla-");
}

}  // namespace
}  // namespace hekla::agent
