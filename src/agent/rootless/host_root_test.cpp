#include "agent/rootless/host_root.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

TEST(MountTable, CutsWhereSomethingIsMounted) {
  const MountTable table(
      "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
      "28 27 0:25 / /var/lib/docker rw shared:3 - ext4 /dev/vdb rw\n"
      "29 27 0:26 / /usr rw - ext4 /dev/vdc rw\n"
      "30 27 0:27 / /mnt/x/y rw - tmpfs none rw\n"
      "31 27 0:28 / /data rw - ext4 /dev/vdd rw\n",
      {"/srv/hekla", "/opt/laid"});
  EXPECT_TRUE(table.is_cut(""));
  EXPECT_TRUE(table.is_cut("/var"));
  EXPECT_TRUE(table.is_cut("/var/lib"));
  EXPECT_FALSE(table.is_cut("/var/lib/docker"));
  EXPECT_FALSE(table.is_cut("/va"));
  EXPECT_FALSE(table.is_cut("/usr"));
  EXPECT_FALSE(table.is_foreign("/usr"));
  EXPECT_TRUE(table.is_foreign("/mnt/x/y"));
  EXPECT_FALSE(table.is_foreign("/mnt/x"));
  EXPECT_TRUE(table.is_cut("/srv"));
  EXPECT_TRUE(table.is_foreign("/srv/hekla"));
  EXPECT_TRUE(table.is_cut("/opt"));
  EXPECT_TRUE(table.is_foreign("/opt/laid"));
  EXPECT_TRUE(table.is_foreign("/data"));
}

}  // namespace
}  // namespace hekla::agent
