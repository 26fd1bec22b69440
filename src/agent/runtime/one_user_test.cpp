#include "agent/runtime/one_user.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::agent {
namespace {

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

}  // namespace
}  // namespace hekla::agent
