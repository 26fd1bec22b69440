#include "agent/runtime/pause.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "agent/os/files.h"
#include "agent/os/process.h"
#include "agent/os/user_namespace.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

constexpr const char* kName = "hekla-pause";
constexpr unsigned kNobody = 65535;
constexpr int kMostCapabilities = 64;

// A program that waits for ever and needs no file, so that its root can be empty: for (;;) pause().
struct PauseProgram {
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  std::array<unsigned char, 32> code;
};
constexpr Elf64_Addr kLoadAt = 0x400000;
#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
constexpr std::array<unsigned char, 32> kCode{0xb8, 34,   0, 0, 0,  // mov eax, SYS_pause
                                              0x0f, 0x05,           // syscall
                                              0xeb, 0xf7};          // jmp to the begin
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
constexpr std::array<unsigned char, 32> kCode{
    0x00, 0x00, 0x80, 0xd2,   // mov x0, 0: SYS_ppoll of nothing, for ever
    0x01, 0x00, 0x80, 0xd2,   // mov x1, 0
    0x02, 0x00, 0x80, 0xd2,   // mov x2, 0
    0x03, 0x00, 0x80, 0xd2,   // mov x3, 0
    0x28, 0x09, 0x80, 0xd2,   // mov x8, 73
    0x01, 0x00, 0x00, 0xd4,   // svc 0
    0xfa, 0xff, 0xff, 0x17};  // b to the begin
#else
#error "the pod's first process has to be written for this machine"
#endif

PauseProgram pause_program() {
  PauseProgram out{};
  Elf64_Ehdr& header = out.header;
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = kMachine;
  header.e_version = EV_CURRENT;
  header.e_entry = kLoadAt + offsetof(PauseProgram, code);
  header.e_phoff = offsetof(PauseProgram, segment);
  header.e_ehsize = sizeof out.header;
  header.e_phentsize = sizeof out.segment;
  header.e_phnum = 1;
  out.segment.p_type = PT_LOAD;
  out.segment.p_flags = PF_R | PF_X;
  out.segment.p_vaddr = out.segment.p_paddr = kLoadAt;
  out.segment.p_filesz = out.segment.p_memsz = sizeof out;
  out.segment.p_align = 0x1000;
  out.code = kCode;
  return out;
}

// In memory and never to be changed: containers may open what the process executes.
Result<FileDescriptor> pause_file() {
  FileDescriptor file(::memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const PauseProgram program = pause_program();
  if (!file || ::write(file.get(), &program, sizeof program) != sizeof program ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) !=
          0)
    return errno_error("write the pod's first program");
  return file;
}

// After fork() in a process with threads: only calls that are safe in a signal handler.

// The process leads to nothing of the host's: an empty root of its own, no network, none of our
// open files.
bool leave_the_host() {
  return ::unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", "/proc", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                 "size=4k,mode=555") == 0 &&
         ::chdir("/proc") == 0 && ::syscall(SYS_pivot_root, ".", ".") == 0 &&
         ::umount2(".", MNT_DETACH) == 0 && ::chdir("/") == 0 &&
         ::close_range(0, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

// Containers that may trace it gain nothing by it.
bool drop_rights(bool rootless) {
  for (int capability = 0; capability < kMostCapabilities; ++capability)
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL) return false;
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return false;
  // The calls themselves: those of the library tell other threads, which are not here.
  if (!rootless && (::syscall(SYS_setgroups, 0, nullptr) != 0 ||
                    ::syscall(SYS_setresgid, kNobody, kNobody, kNobody) != 0 ||
                    ::syscall(SYS_setresuid, kNobody, kNobody, kNobody) != 0))
    return false;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  return ::syscall(SYS_capset, &header, none.data()) == 0 &&
         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

struct Report {
  pid_t pid = 0;
  int error = 0;
};

[[noreturn]] void become_pause(int program, int report, bool rootless) {
  ::setsid();
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;  // orphans are reaped by the kernel; outlives execve
  char name[] = "pause";
  char* const arguments[] = {name, nullptr};
  char* const environment[] = {nullptr};
  if (::sigaction(SIGCHLD, &ignore, nullptr) == 0 && leave_the_host() && drop_rights(rootless))
    ::syscall(SYS_execveat, program, "", arguments, environment, AT_EMPTY_PATH);
  const Report failed{0, errno};
  [[maybe_unused]] ssize_t told = ::write(report, &failed, sizeof failed);
  ::_exit(127);
}

// The namespace's first process is a grandchild: whoever made the namespace stays outside of it.
[[noreturn]] void fork_pause(int program, int report, bool rootless) {
  if (::unshare(CLONE_NEWPID) != 0) ::_exit(errno);
  pid_t pid = ::fork();
  if (pid < 0) ::_exit(errno);
  if (pid == 0) become_pause(program, report, rootless);
  const Report begun{pid, 0};
  ::_exit(::write(report, &begun, sizeof begun) == sizeof begun ? 0 : EIO);
}

Result<void> join_cgroup(const std::string& cgroup, pid_t pid) {
  if (is_rootless()) return {};
  const std::string root = "/sys/fs/cgroup";
  std::error_code error;
  const bool unified = std::filesystem::exists(root + "/cgroup.controllers", error);
  // One hierarchy is enough to be found and killed.
  const std::string directory = root + (unified ? "" : "/pids") + cgroup;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(Code::internal, "make " + directory + ": " + error.message());
  FileDescriptor file(::open((directory + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(pid);
  if (!file || ::write(file.get(), text.data(), text.size()) < 0)
    return errno_error("put the pod's first process into " + directory);
  return {};
}

}  // namespace

Result<void> start_pause(const std::string& cgroup, const std::string& pid_file) {
  FileDescriptor program = TRY(pause_file());
  Pipe pipe = TRY(make_pipe());
  const bool rootless = is_rootless();
  pid_t child = ::fork();
  if (child < 0) return errno_error("fork");
  if (child == 0) fork_pause(program.get(), pipe.write.get(), rootless);
  pipe.write.close();
  // The end of the file comes with execve: containers never meet what was before.
  Report all, one;
  while (::read(pipe.read.get(), &one, sizeof one) == sizeof one) {
    if (one.pid != 0) all.pid = one.pid;
    if (one.error != 0) all.error = one.error;
  }
  const int status = hekla::agent::wait_for(child);
  if (all.pid == 0 || all.error != 0 || status != 0)
    return errno_error("make a process namespace for the pod", all.error != 0 ? all.error : status);
  const pid_t pid = all.pid;
  if (Result<void> joined = join_cgroup(cgroup, pid); !joined) {
    ::kill(pid, SIGKILL);
    return joined;
  }
  return replace_file(pid_file, std::to_string(pid), 0600);
}

void stop_pause(const std::string& pid_file) {
  Result<std::string> place = pause_namespace(pid_file);
  pid_t pid = 0;
  const std::string text = read_file(pid_file).value_or("");
  if (place && std::from_chars(text.data(), text.data() + text.size(), pid).ec == std::errc{} &&
      pid > 1)
    ::kill(pid, SIGKILL);
}

Result<std::string> pause_namespace(const std::string& pid_file) {
  std::string text = TRY(read_file(pid_file));
  const std::string path = "/proc/" + text + "/ns/pid";
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/" + text + "/exe", error);
  if (text.empty() || program.find(kName) == std::string::npos)
    return fail(Code::unavailable, "the pod's first process is gone");
  return path;
}

}  // namespace hekla::agent
