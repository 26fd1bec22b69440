#include "agent/doctor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "agent/network/pod_network.h"
#include "agent/os/root_mount.h"

namespace hekla::agent {
namespace {

TEST(Doctor, KnowsTheWaysToMountControlGroups) {
  const std::string v1 =
      "31 30 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "32 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "33 30 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
  const std::string v2 = "30 24 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(judge_cgroups(v2, "cpuset cpu io memory pids\n").what, "control groups: version 2");
  EXPECT_EQ(judge_cgroups(v1, "").what, "control groups: version 1");
  EXPECT_NE(judge_cgroups(v1 + v2, "hugetlb").what.find("beside"), std::string::npos);
  EXPECT_EQ(judge_cgroups("", "").grade, Finding::Grade::bad);
  EXPECT_FALSE(judge_cgroups("", "").fix.empty());
  EXPECT_EQ(judge_cgroups(v2, "cpuset cpu io pids\n").what,
            "control groups without memory: pods cannot be limited");
  EXPECT_EQ(judge_cgroups(v2, "").grade, Finding::Grade::bad);
}

TEST(Doctor, SaysWhatANetworkLacksAndHowToGetIt) {
  EXPECT_EQ(judge_network({}).grade, Finding::Grade::good);
  const Finding veth = judge_network(fail(Code::internal, "veth: Operation not supported"));
  EXPECT_EQ(veth.grade, Finding::Grade::bad);
  EXPECT_EQ(veth.what, "pods get no network: veth: Operation not supported");
  EXPECT_EQ(veth.fix, "modprobe veth");
  EXPECT_TRUE(judge_network(fail(Code::not_found, "nftables: no nft"))
                  .fix.starts_with("apt install nftables"));
}

TEST(Doctor, TriesANetworkOutAndLeavesNothing) {
  ASSERT_EQ(::geteuid(), 0u) << "namespaces are made: run this as root";
  const auto before = std::filesystem::read_symlink("/proc/thread-self/ns/net");
  Result<void> tried = PodNetwork::try_out();
  EXPECT_TRUE(tried) << tried.error().message;
  EXPECT_EQ(std::filesystem::read_symlink("/proc/thread-self/ns/net"), before);
}

TEST(Doctor, ReadsTheKernelsFileSystems) {
  EXPECT_TRUE(has_file_system("nodev\tsysfs\nnodev\toverlay\n\text4\n", "overlay"));
  EXPECT_TRUE(has_file_system("\text4\n", "ext4"));
  EXPECT_FALSE(has_file_system("nodev\toverlayer\n", "overlay"));
}

TEST(Doctor, SaysThatAPlainChrootStartsNoContainers) {
  EXPECT_EQ(chroot_obstacle("22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
                            "23 22 0:5 / /proc rw - proc proc rw\n"),
            "");
  EXPECT_EQ(chroot_obstacle("23 22 0:5 / /proc rw - proc proc rw\n"),
            "/ is no mount point, as in a plain chroot, where no container can be started");
}

}  // namespace
}  // namespace hekla::agent
