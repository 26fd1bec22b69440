#include "agent/runtime/seccomp.h"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string_view>

namespace hekla::agent {
namespace {

constexpr int kNotPermitted = 1;     // EPERM
constexpr int kNotImplemented = 38;  // ENOSYS
// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET together: only a filter on the
// argument can tell a new namespace from a new thread.
constexpr std::uint32_t kNamespaceFlags = 0x7E020000;
constexpr std::uint32_t kVsock = 40;  // AF_VSOCK leads to whoever runs the virtual machine
// PER_LINUX, PER_LINUX32, both with UNAME26, and the question which one it is.
constexpr std::uint32_t kPersonalities[] = {0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF};

// System calls open to every container, by subject: those of the profiles that containerd and
// Docker apply. io_uring is not among them: too many ways out of a container have been found
// through it.
constexpr std::string_view kAllowed[] = {
    // files by name
    "access chdir chmod chown chown32 creat execve execveat faccessat faccessat2 fanotify_mark "
    "fchdir fchmodat "
    "fchmodat2 fchownat fstatat64 futimesat getcwd getxattr getxattrat inotify_add_watch "
    "inotify_init inotify_init1 "
    "inotify_rm_watch lchown lchown32 lgetxattr link linkat listmount listxattr listxattrat "
    "llistxattr lremovexattr "
    "lsetxattr lstat lstat64 mkdir mkdirat mknod mknodat name_to_handle_at newfstatat open openat "
    "openat2 readlink "
    "readlinkat removexattr removexattrat rename renameat renameat2 rmdir setxattr setxattrat stat "
    "stat64 statfs "
    "statfs64 statmount statx symlink symlinkat truncate truncate64 umask unlink unlinkat utime "
    "utimensat "
    "utimensat_time64 utimes",
    // open files
    "_llseek cachestat close close_range copy_file_range dup dup2 dup3 fadvise64 fadvise64_64 "
    "fallocate fchmod "
    "fchown fchown32 fcntl fcntl64 fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr "
    "fstat fstat64 "
    "fstatfs fstatfs64 fsync ftruncate ftruncate64 getdents getdents64 ioctl lseek pipe pipe2 "
    "pread64 preadv "
    "preadv2 pwrite64 pwritev pwritev2 read readahead readv sendfile sendfile64 splice sync "
    "sync_file_range syncfs "
    "tee vmsplice write writev",
    // waiting
    "_newselect epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 "
    "epoll_wait "
    "epoll_wait_old eventfd eventfd2 io_cancel io_destroy io_getevents io_pgetevents "
    "io_pgetevents_time64 io_setup "
    "io_submit poll ppoll ppoll_time64 pselect6 pselect6_time64 select signalfd signalfd4 "
    "timerfd_create "
    "timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64",
    // memory
    "brk madvise map_shadow_stack membarrier memfd_create memfd_secret mincore mlock mlock2 "
    "mlockall mmap mmap2 "
    "mprotect mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect "
    "process_mrelease "
    "remap_file_pages",
    // processes and threads
    "exit exit_group fork futex futex_requeue futex_time64 futex_wait futex_waitv futex_wake "
    "get_robust_list "
    "get_thread_area getcpu getpgid getpgrp getpid getppid getpriority getrlimit getrusage getsid "
    "gettid ioprio_get "
    "ioprio_set kill pause pidfd_open pidfd_send_signal prctl prlimit64 process_vm_readv "
    "process_vm_writev ptrace "
    "restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn "
    "rt_sigsuspend "
    "rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo sched_get_priority_max "
    "sched_get_priority_min "
    "sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval "
    "sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam "
    "sched_setscheduler sched_yield "
    "set_robust_list set_thread_area set_tid_address setpgid setpriority setrlimit setsid "
    "sigaltstack sigprocmask "
    "sigreturn tgkill times tkill ugetrlimit vfork wait4 waitid waitpid",
    // who one is, and what one may do
    "capget capset getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 "
    "getresgid getresgid32 "
    "getresuid getresuid32 getuid getuid32 landlock_add_rule landlock_create_ruleset "
    "landlock_restrict_self "
    "lsm_get_self_attr lsm_list_modules lsm_set_self_attr seccomp setfsgid setfsgid32 setfsuid "
    "setfsuid32 setgid "
    "setgid32 setgroups setgroups32 setregid setregid32 setresgid setresgid32 setresuid "
    "setresuid32 setreuid "
    "setreuid32 setuid setuid32",
    // sockets and System V objects
    "accept accept4 bind connect getpeername getsockname getsockopt ipc listen mq_getsetattr "
    "mq_notify mq_open "
    "mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink msgctl "
    "msgget msgrcv msgsnd "
    "recv recvfrom recvmmsg recvmmsg_time64 recvmsg semctl semget semop semtimedop "
    "semtimedop_time64 send sendmmsg "
    "sendmsg sendto setsockopt shmat shmctl shmdt shmget shutdown socketcall socketpair",
    // time and the rest; the kernel itself lets nobody set the clock without the capability
    "adjtimex alarm clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime "
    "clock_gettime64 "
    "clock_nanosleep clock_nanosleep_time64 getitimer getrandom gettimeofday nanosleep setitimer "
    "sysinfo time "
    "timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime "
    "timer_settime64 uname",
#if defined(__x86_64__)
    "arch_prctl modify_ldt",
#elif defined(__aarch64__)
    "arm_fadvise64_64 arm_sync_file_range breakpoint cacheflush set_tls sync_file_range2",
#endif
};

struct Granted {
  std::string_view capability, calls;
};

constexpr Granted kGranted[] = {
    {"DAC_READ_SEARCH", "open_by_handle_at"},
    {"SYS_ADMIN",
     "bpf clone clone3 fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie mount "
     "mount_setattr "
     "move_mount open_tree perf_event_open quotactl quotactl_fd setdomainname sethostname setns "
     "syslog "
     "umount umount2 unshare"},
    {"SYS_BOOT", "reboot"},
    {"SYS_CHROOT", "chroot"},
    {"SYS_MODULE", "delete_module finit_module init_module"},
    {"SYS_PACCT", "acct"},
    {"SYS_PTRACE", "kcmp pidfd_getfd process_madvise"},
    {"SYS_RAWIO", "ioperm iopl"},
    {"SYS_TIME", "clock_settime clock_settime64 settimeofday stime"},
    {"SYS_TTY_CONFIG", "vhangup"},
    {"SYS_NICE", "get_mempolicy mbind set_mempolicy set_mempolicy_home_node"},
    {"SYSLOG", "syslog"},
    {"BPF", "bpf"},
    {"PERFMON", "perf_event_open"},
};

void add_names(json::Array& out, std::string_view calls) {
  std::istringstream words{std::string(calls)};
  for (std::string word; words >> word;) out.emplace_back(word);
}

json::Object permission(json::Array names) {
  json::Object rule;
  rule["names"] = std::move(names);
  rule["action"] = "SCMP_ACT_ALLOW";
  return rule;
}

// Allowed when the first argument compares like this.
json::Object permission_by_argument(const char* call, const char* comparison, std::uint32_t value) {
  json::Object argument;
  argument["index"] = 0;
  argument["value"] = value;
  argument["valueTwo"] = 0;
  argument["op"] = comparison;
  json::Object rule = permission({json::Value(call)});
  rule["args"] = json::Array{std::move(argument)};
  return rule;
}

json::Array architectures() {
  json::Array out;
#if defined(__x86_64__)
  for (const char* name : {"SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"})
    out.emplace_back(name);
#elif defined(__aarch64__)
  for (const char* name : {"SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"}) out.emplace_back(name);
#endif
  return out;
}

}  // namespace

json::Value default_seccomp(const std::vector<std::string>& capabilities) {
  auto has = [&](std::string_view name) {
    return std::ranges::find(capabilities, name) != capabilities.end();
  };
  json::Array names, rules;
  for (std::string_view calls : kAllowed) add_names(names, calls);
  for (const Granted& group : kGranted)
    if (has(group.capability)) add_names(names, group.calls);
  rules.emplace_back(permission(std::move(names)));
  rules.emplace_back(permission_by_argument("socket", "SCMP_CMP_NE", kVsock));
  for (std::uint32_t personality : kPersonalities)
    rules.emplace_back(permission_by_argument("personality", "SCMP_CMP_EQ", personality));
  if (!has("SYS_ADMIN")) {
    // valueTwo is what must be left of the flags under the mask: nothing.
    json::Object threads = permission_by_argument("clone", "SCMP_CMP_MASKED_EQ", kNamespaceFlags);
    rules.emplace_back(std::move(threads));
    // Its flags are in memory, where no filter sees them: programs then fall back to clone.
    json::Object absent = permission({json::Value("clone3")});
    absent["action"] = "SCMP_ACT_ERRNO";
    absent["errnoRet"] = kNotImplemented;
    rules.emplace_back(std::move(absent));
  }
  json::Object section;
  section["defaultAction"] = "SCMP_ACT_ERRNO";
  section["defaultErrnoRet"] = kNotPermitted;
  section["architectures"] = architectures();
  section["syscalls"] = std::move(rules);
  return section;
}

}  // namespace hekla::agent
