#include "agent/runtime/seccomp.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace hekla::agent {
namespace {

constexpr int kNotPermitted = 1;    // EPERM
constexpr int kNotImplemented = 38;  // ENOSYS
// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET, of which only a filter on the
// argument can tell a new namespace from a new thread.
constexpr std::uint32_t kNamespaceFlags[] = {0x00020000, 0x02000000, 0x04000000, 0x08000000,
                                             0x10000000, 0x20000000, 0x40000000};

struct Guarded {
  const char* capability;  // empty: nothing allows them
  std::initializer_list<const char*> calls;
};

const Guarded kGuarded[] = {
    {"", {"add_key", "keyctl", "request_key", "nfsservctl", "userfaultfd", "uselib", "vm86",
          "vm86old", "create_module", "get_kernel_syms", "query_module", "_sysctl", "ustat",
          "sysfs", "get_mempolicy", "migrate_pages"}},
    {"SYS_ADMIN", {"mount", "umount", "umount2", "pivot_root", "setns", "unshare", "fanotify_init",
                   "lookup_dcookie", "quotactl", "quotactl_fd", "sethostname", "setdomainname",
                   "fsopen", "fsconfig", "fsmount", "fspick", "move_mount", "open_tree",
                   "mount_setattr", "swapon", "swapoff", "perf_event_open", "bpf", "syslog"}},
    {"SYS_BOOT", {"reboot", "kexec_load", "kexec_file_load"}},
    {"SYS_MODULE", {"init_module", "finit_module", "delete_module"}},
    {"SYS_TIME", {"settimeofday", "clock_settime", "clock_settime64", "stime"}},
    {"SYS_RAWIO", {"iopl", "ioperm"}},
    {"SYS_PACCT", {"acct"}},
    {"SYS_TTY_CONFIG", {"vhangup"}},
    {"DAC_READ_SEARCH", {"open_by_handle_at"}},
};

json::Object refusal(json::Array names, int number) {
  json::Object rule;
  rule["names"] = std::move(names);
  rule["action"] = "SCMP_ACT_ERRNO";
  rule["errnoRet"] = number;
  return rule;
}

// clone with any of the flags, and clone3 altogether, whose flags are in memory where no filter
// sees them: programs then fall back to clone.
void refuse_namespaces(json::Array& rules) {
  for (std::uint32_t flag : kNamespaceFlags) {
    json::Object argument;
    argument["index"] = 0;
    argument["value"] = flag;
    argument["valueTwo"] = flag;
    argument["op"] = "SCMP_CMP_MASKED_EQ";
    json::Object rule = refusal({json::Value("clone")}, kNotPermitted);
    rule["args"] = json::Array{std::move(argument)};
    rules.emplace_back(std::move(rule));
  }
  rules.emplace_back(refusal({json::Value("clone3")}, kNotImplemented));
}

}  // namespace

json::Value default_seccomp(const std::vector<std::string>& capabilities) {
  json::Array names;
  for (const Guarded& group : kGuarded) {
    if (std::ranges::find(capabilities, group.capability) != capabilities.end()) continue;
    for (const char* call : group.calls) names.emplace_back(call);
  }
  json::Array rules, architectures;
  rules.emplace_back(refusal(std::move(names), kNotPermitted));
  if (std::ranges::find(capabilities, "SYS_ADMIN") == capabilities.end()) refuse_namespaces(rules);
#if defined(__x86_64__)
  for (const char* name : {"SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"})
    architectures.emplace_back(name);
#elif defined(__aarch64__)
  for (const char* name : {"SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"}) architectures.emplace_back(name);
#endif
  json::Object section;
  section["defaultAction"] = "SCMP_ACT_ALLOW";
  section["architectures"] = std::move(architectures);
  section["syscalls"] = std::move(rules);
  return section;
}

}  // namespace hekla::agent
