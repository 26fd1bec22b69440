#include "agent/runtime/seccomp.h"

#include <algorithm>
#include <initializer_list>

namespace hekla::agent {
namespace {

constexpr int kNotPermitted = 1;  // EPERM

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

}  // namespace

json::Value default_seccomp(const std::vector<std::string>& capabilities) {
  json::Array names;
  for (const Guarded& group : kGuarded) {
    if (std::ranges::find(capabilities, group.capability) != capabilities.end()) continue;
    for (const char* call : group.calls) names.emplace_back(call);
  }
  json::Object rule;
  rule["names"] = std::move(names);
  rule["action"] = "SCMP_ACT_ERRNO";
  rule["errnoRet"] = kNotPermitted;
  json::Array rules, architectures;
  rules.emplace_back(std::move(rule));
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
