#include "agent/runtime/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

TEST(Cgroup, ReadsOomKillsOfBothVersions) {
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), 3);
  EXPECT_EQ(parse_oom_kills("low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\noom_group_kill 0\n"), 1);
  EXPECT_EQ(parse_oom_kills("oom_kill 12\n"), 12);
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\n"), 0);
  EXPECT_EQ(parse_oom_kills(""), 0);
}

TEST(Cgroup, WhatPrecedesMovesMovesNothing) {
  const std::string before = read_file("/proc/self/cgroup").value_or("");
  precede_moves();
  EXPECT_EQ(read_file("/proc/self/cgroup").value_or(""), before);
  precede_moves("/no/such");
}

// Hierarchies as a machine with version 1 has them, each with its files.
class PodCgroupTest : public ::testing::Test {
 protected:
  void add(const std::string& path, const std::string& text) {
    const std::string file = temp_.path() + "/" + path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    ASSERT_TRUE(write_file_atomically(file, text, 0644));
  }
  std::string text(const std::string& path) {
    return read_file(temp_.path() + "/" + path).value_or("?");
  }
  void limit(const Limits& limits, bool only_raise) {
    Result<void> done = limit_pod("/p", limits, only_raise, temp_.path());
    ASSERT_TRUE(done) << done.error().message;
  }
  TempDir temp_;
};

TEST_F(PodCgroupTest, EachHierarchyGetsWhatItControls) {
  add("cpu/p/cpu.shares", "1024\n");
  add("cpu/p/cpu.cfs_quota_us", "-1\n");
  add("memory/p/memory.limit_in_bytes", "9223372036854771712\n");
  add("unified/p/cpu.weight", "100\n");
  add("unified/p/cpu.max", "max 100000\n");
  add("unified/p/memory.max", "max\n");
  limit({.cpu_request_milli = 500, .cpu_limit_milli = 1500, .memory_limit_bytes = 4096}, false);
  EXPECT_EQ(text("cpu/p/cpu.shares"), "512");
  EXPECT_EQ(text("cpu/p/cpu.cfs_quota_us"), "150000");
  EXPECT_EQ(text("memory/p/memory.limit_in_bytes"), "4096");
  EXPECT_EQ(text("unified/p/cpu.weight"), "20");
  EXPECT_EQ(text("unified/p/cpu.max"), "150000 100000");
  EXPECT_EQ(text("unified/p/memory.max"), "4096");
  limit({}, false);
  EXPECT_EQ(text("cpu/p/cpu.shares"), "2");
  EXPECT_EQ(text("cpu/p/cpu.cfs_quota_us"), "-1");
  EXPECT_EQ(text("memory/p/memory.limit_in_bytes"), "-1");
  EXPECT_EQ(text("unified/p/cpu.max"), "max 100000");
  EXPECT_EQ(text("unified/p/memory.max"), "max");
}

TEST_F(PodCgroupTest, NothingIsTakenAwayBeforeTheContainersHaveLess) {
  add("cpu/p/cpu.cfs_quota_us", "150000\n");
  add("memory/p/memory.limit_in_bytes", "4096\n");
  add("unified/p/memory.max", "max\n");
  limit({.cpu_limit_milli = 1000, .memory_limit_bytes = 8192}, true);
  EXPECT_EQ(text("cpu/p/cpu.cfs_quota_us"), "150000\n");
  EXPECT_EQ(text("memory/p/memory.limit_in_bytes"), "8192");
  EXPECT_EQ(text("unified/p/memory.max"), "max\n");
  limit({.memory_limit_bytes = 1}, true);
  EXPECT_EQ(text("cpu/p/cpu.cfs_quota_us"), "-1") << "no limit is more than any";
}

TEST(CgroupDeathTest, WillNotRemoveWhatIsNotOurs) {
  EXPECT_DEATH((void)remove_cgroup(""), "hekla-");
  EXPECT_DEATH((void)remove_cgroup("/"), "hekla-");
  EXPECT_DEATH((void)remove_cgroup("/hekla-"), "hekla-");
}

}  // namespace
}  // namespace hekla::agent
