#include "agent/runtime/seccomp.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cerrno>

#include "agent/runtime/bundle.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

// Without a condition on its arguments.
bool allows(const json::Value& section, std::string_view call) {
  for (const json::Value& rule : *json::array_at(section, {"syscalls"})) {
    if (json::string_at(rule, {"action"}) != "SCMP_ACT_ALLOW" || json::array_at(rule, {"args"}))
      continue;
    for (const json::Value& name : *json::array_at(rule, {"names"}))
      if (json::sv(name.get_string()) == call) return true;
  }
  return false;
}

TEST(Seccomp, WhatIsNotNamedIsRefused) {
  const json::Value section = default_seccomp({});
  EXPECT_EQ(json::string_at(section, {"defaultAction"}), "SCMP_ACT_ERRNO");
  EXPECT_EQ(json::int_at(section, {"defaultErrnoRet"}), EPERM);
  for (const char* call :
       {"read", "execve", "openat", "mmap", "futex", "epoll_pwait2", "ptrace", "rseq", "statx"})
    EXPECT_TRUE(allows(section, call)) << call;
  for (const char* call :
       {"mount", "keyctl", "add_key", "bpf", "unshare", "setns", "userfaultfd", "io_uring_setup",
        "kexec_load", "swapon", "move_pages", "chroot", "socket", "clone"})
    EXPECT_FALSE(allows(section, call)) << call;
}

TEST(Seccomp, CapabilitiesAllowTheirCalls) {
  EXPECT_TRUE(allows(default_seccomp({"SYS_ADMIN"}), "mount"));
  EXPECT_FALSE(allows(default_seccomp({"SYS_ADMIN"}), "reboot"));
  EXPECT_TRUE(allows(default_seccomp({"SYS_BOOT"}), "reboot"));
  EXPECT_TRUE(allows(default_seccomp({"SYS_CHROOT"}), "chroot"));
  EXPECT_TRUE(allows(default_seccomp({"SYS_NICE"}), "mbind"));
}

TEST(Seccomp, NewNamespacesAreRefusedWithEveryCall) {
  const json::Value section = default_seccomp({});
  std::int64_t flags = 0;
  bool absent = false;
  for (const json::Value& rule : *json::array_at(section, {"syscalls"})) {
    const std::string name((*json::array_at(rule, {"names"}))[0].as_string());
    absent |= name == "clone3" && json::int_at(rule, {"errnoRet"}) == ENOSYS;
    if (name != "clone") continue;
    // Threads must still be made: allowed when none of the flags is set.
    const json::Value& argument = (*json::array_at(rule, {"args"}))[0];
    EXPECT_EQ(json::string_at(argument, {"op"}), "SCMP_CMP_MASKED_EQ");
    EXPECT_EQ(json::int_at(argument, {"index"}), 0);
    EXPECT_EQ(json::int_at(argument, {"valueTwo"}), 0);
    flags |= json::int_at(argument, {"value"});
  }
  EXPECT_EQ(flags, CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                       CLONE_NEWPID | CLONE_NEWNET);
  EXPECT_TRUE(absent);
  EXPECT_TRUE(allows(default_seccomp({"SYS_ADMIN"}), "clone3"));
  EXPECT_TRUE(allows(default_seccomp({"SYS_ADMIN"}), "clone"));
}

TEST(Seccomp, TheProfileOfTheContainerWinsOverThePods) {
  json::Value runtime = json::parse(R"({"seccompProfile":{"type":"RuntimeDefault"}})").value();
  json::Value none = json::parse(R"({"seccompProfile":{"type":"Unconfined"}})").value();
  BundleSpec spec;
  auto filtered = [&] {
    return json::find_path(oci_config(spec), {"linux", "seccomp"}) != nullptr;
  };
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
