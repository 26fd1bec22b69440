#include "agent/pressure/usage.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

using std::chrono::seconds;

TEST(Usage, ReadsTheKernelsTables) {
  EXPECT_EQ(parse_busy_ns("cpu  100 10 50 9999 7 1 2 3 0 0\ncpu0 1 1 1 1\n"), 166 * 10'000'000LL);
  EXPECT_EQ(parse_used_memory("MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\n"),
            600 * 1024);
}

TEST(Usage, CgroupVersionOne) {
  TempDir temp;
  const std::string& root = temp.path();
  std::filesystem::create_directories(root + "/memory/g");
  std::filesystem::create_directories(root + "/cpuacct/g");
  std::ofstream(root + "/cpuacct/g/cpuacct.usage") << "123456789\n";
  std::ofstream(root + "/memory/g/memory.usage_in_bytes") << "5000\n";
  std::ofstream(root + "/memory/g/memory.stat") << "inactive_file 7\ntotal_inactive_file 2000\n";
  std::optional<CgroupUsage> usage = cgroup_usage("/g", root);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->cpu_ns, 123456789);
  EXPECT_EQ(usage->memory_bytes, 3000);
  EXPECT_FALSE(cgroup_usage("/gone", root));
}

TEST(Usage, ARateOfTheWholeLifeAndThenOfTheLastWindow) {
  UsageMeter meter;
  const WallTime begin(seconds(1'700'000'000));
  const std::vector<MeasuredPod> pods{{"ns", "p", "u", {{"c", "id", begin}, {"d", "gone", begin}}}};
  auto ask = [&](seconds after, std::int64_t cpu_ns) {
    return meter.report(pods, {{cpu_ns, 42}, after, {CgroupUsage{cpu_ns, 7}, std::nullopt}},
                        begin + after);
  };
  kube::NodeUsage first = ask(seconds(10), 5'000'000'000);
  ASSERT_EQ(first.pods.size(), 1u);
  ASSERT_EQ(first.pods[0].containers.size(), 1u);
  EXPECT_EQ(first.pods[0].containers[0].cpu_nanocores, 500'000'000);
  EXPECT_EQ(first.pods[0].containers[0].memory_bytes, 7);
  EXPECT_EQ(first.pods[0].window, seconds(10));
  EXPECT_EQ(first.cpu_nanocores, 500'000'000);
  // Too soon for a rate of its own: still the whole life.
  EXPECT_EQ(ask(seconds(20), 5'000'000'000).pods[0].containers[0].cpu_nanocores, 250'000'000);
  kube::NodeUsage later = ask(seconds(30), 25'000'000'000);
  EXPECT_EQ(later.pods[0].containers[0].cpu_nanocores, 1'000'000'000);
  EXPECT_EQ(later.pods[0].window, seconds(20));
}

}  // namespace
}  // namespace hekla::agent
