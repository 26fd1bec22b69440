#include "agent/rootless/process_usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hekla::agent {
namespace {

TEST(ProcessUsage, ReadsTheKernelsLine) {
  auto use = parse_process(
      "42 (a ) b) S 7 42 42 0 -1 4194560 100 0 0 0 11 12 13 14 20 0 1 0 36 2500 500 "
      "18446744073709551615 1 1\n");
  ASSERT_TRUE(use);
  EXPECT_EQ(use->pid, 42);
  EXPECT_EQ(use->parent, 7);
  EXPECT_EQ(use->cpu_ticks, 11 + 12 + 13 + 14);
  EXPECT_EQ(use->resident_pages, 500);
  EXPECT_FALSE(parse_process(""));
  EXPECT_FALSE(parse_process("42 (a) S 7"));
}

TEST(ProcessUsage, SumsAllThatDescendFromOne) {
  const ProcessUse processes[] = {{5, 9, 1, 10}, {9, 3, 2, 20}, {3, 1, 4, 40}, {4, 1, 8, 80}};
  auto sum = usage_below(processes, 3);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->cpu_ns, 7 * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(sum->memory_bytes, 70 * ::sysconf(_SC_PAGESIZE));
  EXPECT_FALSE(usage_below(processes, 77));
}

}  // namespace
}  // namespace hekla::agent
