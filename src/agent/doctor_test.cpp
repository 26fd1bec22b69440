#include "agent/doctor.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

TEST(Doctor, KnowsTheWaysToMountControlGroups) {
  const std::string v1 = "31 30 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
  const std::string v2 = "30 24 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(judge_cgroups(v2).what, "control groups: version 2");
  EXPECT_EQ(judge_cgroups(v1).what, "control groups: version 1");
  EXPECT_NE(judge_cgroups(v1 + v2).what.find("beside"), std::string::npos);
  EXPECT_EQ(judge_cgroups("").grade, Finding::Grade::bad);
  EXPECT_FALSE(judge_cgroups("").fix.empty());
}

TEST(Doctor, ReadsTheKernelsFileSystems) {
  EXPECT_TRUE(has_file_system("nodev\tsysfs\nnodev\toverlay\n\text4\n", "overlay"));
  EXPECT_TRUE(has_file_system("\text4\n", "ext4"));
  EXPECT_FALSE(has_file_system("nodev\toverlayer\n", "overlay"));
}

}  // namespace
}  // namespace hekla::agent
