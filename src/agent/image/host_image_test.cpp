#include "agent/image/host_image.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

constexpr const char* kMounts =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "28 27 254:1 / /usr rw,relatime shared:2 master:1 - xfs /dev/vdb rw\n"
    "29 27 254:2 / /home rw - ext4 /dev/vdc rw\n"
    "30 27 254:3 / /home/me rw - ext4 /dev/vdd rw\n"
    "31 27 254:4 / /opt/tools rw - nfs4 server:/tools rw\n"
    "35 27 254:9 / /mnt/data rw - ext4 /dev/vdi rw\n"
    "36 27 254:9 / /optional rw - ext4 /dev/vdj rw\n"
    "32 27 254:5 / /boot/efi rw - ext4 /dev/vde rw\n"
    "33 27 0:50 / /dev/shm rw - tmpfs tmpfs rw\n"
    "34 28 254:6 / /usr rw - xfs /dev/vdf rw\n";

TEST(HostImage, BindsDiskFileSystemsOutsideWhatIsHidden) {
  EXPECT_EQ(mount_points_to_bind(kMounts, {"/home", "/run"}),
            (std::vector<std::string>{"/usr", "/opt/tools"}));
}

TEST(HostImage, WhatIsHiddenBelowABoundMountIsCovered) {
  const std::string mounts = std::string(kMounts) +
                             "40 27 254:7 / /var rw - ext4 /dev/vdg rw\n"
                             "41 40 0:60 / /var/cache rw - tmpfs tmpfs rw\n"
                             "42 40 254:8 / /var/lib/hekla rw - xfs /dev/vdh rw\n";
  const std::vector<std::string> hidden{"/etc/ssh",         "/home",    "/var/lib/hekla",
                                        "/var/lib/hekla/x", "/var/tmp", "/var/cache/secret",
                                        "/variety"};
  const std::vector<std::string> bound = mount_points_to_bind(mounts, hidden);
  EXPECT_EQ(bound, (std::vector<std::string>{"/usr", "/opt/tools", "/var"}));
  EXPECT_EQ(paths_to_cover(mounts, bound, hidden),
            (std::vector<std::string>{"/var/lib/hekla", "/var/tmp"}));
}

TEST(HostImage, SurvivesStrangeLines) {
  EXPECT_TRUE(mount_points_to_bind("", {}).empty());
  EXPECT_TRUE(mount_points_to_bind("garbage\n\n1 2 3\n", {}).empty());
}

}  // namespace
}  // namespace hekla::agent
