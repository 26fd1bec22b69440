#include "agent/runtime/seccomp.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cerrno>

#include "agent/runtime/bundle.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

bool forbids(const json::Value& section, const std::string& call) {
  return json::serialize(section).find("\"" + call + "\"") != std::string::npos;
}

TEST(Seccomp, CapabilitiesGiveCallsBack) {
  EXPECT_TRUE(forbids(default_seccomp({}), "mount"));
  EXPECT_TRUE(forbids(default_seccomp({}), "keyctl"));
  EXPECT_FALSE(forbids(default_seccomp({"SYS_ADMIN"}), "mount"));
  EXPECT_TRUE(forbids(default_seccomp({"SYS_ADMIN"}), "reboot"));
}

TEST(Seccomp, NewNamespacesAreRefusedWithEveryCall) {
  const json::Value section = default_seccomp({});
  std::int64_t flags = 0;
  for (const json::Value& rule : *json::array_at(section, {"syscalls"})) {
    const std::string name((*json::array_at(rule, {"names"}))[0].as_string());
    if (name == "clone3") {
      EXPECT_EQ(json::int_at(rule, {"errnoRet"}), ENOSYS);
    }
    const json::Array* arguments = json::array_at(rule, {"args"});
    if (name != "clone") continue;
    // Threads must still be made: no rule without a flag, which alone must be set.
    ASSERT_NE(arguments, nullptr);
    EXPECT_EQ(json::int_at(rule, {"errnoRet"}), EPERM);
    EXPECT_EQ(json::string_at((*arguments)[0], {"op"}), "SCMP_CMP_MASKED_EQ");
    EXPECT_EQ(json::int_at((*arguments)[0], {"index"}), 0);
    EXPECT_EQ(json::int_at((*arguments)[0], {"value"}), json::int_at((*arguments)[0], {"valueTwo"}));
    flags |= json::int_at((*arguments)[0], {"value"});
  }
  EXPECT_EQ(flags, CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                       CLONE_NEWPID | CLONE_NEWNET);
  EXPECT_TRUE(forbids(section, "clone3"));
  EXPECT_FALSE(forbids(default_seccomp({"SYS_ADMIN"}), "clone3"));
  EXPECT_FALSE(forbids(default_seccomp({"SYS_ADMIN"}), "clone"));
}

TEST(Seccomp, TheProfileOfTheContainerWinsOverThePods) {
  json::Value runtime = json::parse(R"({"seccompProfile":{"type":"RuntimeDefault"}})").value();
  json::Value none = json::parse(R"({"seccompProfile":{"type":"Unconfined"}})").value();
  BundleSpec spec;
  auto filtered = [&] { return json::find_path(oci_config(spec), {"linux", "seccomp"}) != nullptr; };
  EXPECT_FALSE(filtered());
  spec.security = merge_security(runtime, json::Value());
  EXPECT_TRUE(filtered());
  spec.security = merge_security(runtime, none);
  EXPECT_FALSE(filtered());
  spec.security = merge_security(json::Value(), runtime);
  EXPECT_TRUE(filtered());
  spec.security.privileged = true;
  EXPECT_FALSE(filtered());
}

}  // namespace
}  // namespace hekla::agent
