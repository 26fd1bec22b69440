#include "agent/rootless/rootless.h"

#include <gtest/gtest.h>

#include "agent/rootless/holder.h"
#include "agent/rootless/host_root.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

TEST(Rootless, IsToldByTheTableOfUsers) {
  EXPECT_TRUE(maps_one_user("         0       4242          1\n"));
  EXPECT_FALSE(maps_one_user("         0          0 4294967295\n"));
  EXPECT_FALSE(
      maps_one_user("         0       1000          1\n         1     100000      65536\n"));
  EXPECT_FALSE(maps_one_user(""));
}

TEST(Rootless, ConfigurationHasNoLimitsAndGroups) {
  json::Value config = *json::parse(R"({
    "process": {"user": {"uid": 0, "gid": 0, "additionalGids": [7]}},
    "mounts": [{"destination": "/dev/pts", "type": "devpts", "options": ["mode=0620", "gid=5"]},
               {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup"},
               {"destination": "/proc", "type": "proc", "options": ["gid=5"]}],
    "linux": {"cgroupsPath": "/x", "resources": {"pids": {"limit": 1}}, "namespaces": [{"type": "pid"}]}})");
  adapt_to_one_user(config, "");
  EXPECT_EQ(
      json::serialize(config),
      R"({"process":{"user":{"uid":0,"gid":0}},)"
      R"("mounts":[{"destination":"/dev/pts","type":"devpts","options":["mode=0620"]},)"
      R"({"destination":"/proc","type":"proc","options":["gid=5"]}],"linux":{"namespaces":[{"type":"pid"}]}})");
}

TEST(Rootless, NothingIsMountedForTheHostsNamespaces) {
  json::Value config = *json::parse(R"({
    "mounts": [{"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid"]},
               {"destination": "/sys", "type": "none", "source": "/sys", "options": ["bind", "ro"]},
               {"destination": "/dev/mqueue", "type": "mqueue", "source": "mqueue"}],
    "linux": {"namespaces": [{"type": "mount"}]}})");
  adapt_to_one_user(config, "");
  EXPECT_EQ(json::serialize(*json::find(config, "mounts")),
            R"([{"destination":"/proc","type":"none","source":"/proc",)"
            R"("options":["rbind","nosuid","noexec","nodev"]},)"
            R"({"destination":"/sys","type":"none","source":"/sys","options":["rbind","ro"]}])");
}

TEST(Rootless, AReadOnlyRootIsSoInAllItsMounts) {
  const std::string mountinfo =
      "1 0 0:1 / / rw - ext4 x rw\n2 1 0:1 / /d/rootfs rw - ext4 x rw\n3 2 0:2 / /d/rootfs/usr rw "
      "- overlay x rw\n"
      "4 1 0:2 / /d/rootfs2/usr rw - overlay x rw\n";
  json::Value config =
      *json::parse(R"({"root": {"path": "/d/rootfs", "readonly": true}, "linux": {}})");
  adapt_to_one_user(config, mountinfo);
  EXPECT_EQ(json::serialize(*json::find_path(config, {"linux", "readonlyPaths"})), R"(["/usr"])");
  config = *json::parse(R"({"root": {"path": "/d/rootfs", "readonly": false}, "linux": {}})");
  adapt_to_one_user(config, mountinfo);
  EXPECT_FALSE(json::find_path(config, {"linux", "readonlyPaths"}));
}

TEST(Rootless, OtherUsersAreRefusedByName) {
  Security security;
  EXPECT_FALSE(missing_user(security, true));
  security.uid = 1000;
  EXPECT_FALSE(missing_user(security, false));
  EXPECT_NE(missing_user(security, true)->find("user 1000 and group 0"), std::string::npos);
  security.uid = 0;
  security.gid = 33;
  EXPECT_NE(missing_user(security, true)->find("group 33"), std::string::npos);
}

TEST(Rootless, SaysWhatIsMissing) {
  EXPECT_NE(rootless_notice(1000, "no pasta").find("nothing outside (no pasta)"),
            std::string::npos);
  EXPECT_EQ(rootless_notice(1000, "").find("nothing outside"), std::string::npos);
  EXPECT_NE(rootless_notice(1000, "").find("uid 1000"), std::string::npos);
}

TEST(Rootless, KnowsWhichSettingForbidsNamespaces) {
  EXPECT_EQ(user_namespace_fix("1\n", "96350\n", "0\n"), "");
  EXPECT_EQ(user_namespace_fix("", "", ""), "");
  EXPECT_NE(user_namespace_fix("0\n", "96350\n", "").find("unprivileged_userns_clone=1"),
            std::string::npos);
  EXPECT_NE(user_namespace_fix("", "0\n", "").find("max_user_namespaces="), std::string::npos);
  EXPECT_NE(user_namespace_fix("1\n", "9\n", "1\n").find("apparmor_restrict"), std::string::npos);
}

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
