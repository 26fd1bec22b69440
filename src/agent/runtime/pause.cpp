#include "agent/runtime/pause.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>

#include "agent/rootless/rootless.h"
#include "agent/runtime/files.h"
#include "agent/runtime/process.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

constexpr const char* kSleep = "/usr/bin/sleep";
constexpr unsigned kFirstOpen = 3;

// After fork() in a process with threads: only calls that are safe in a signal handler.
[[noreturn]] void become_pause() {
  ::setsid();
  int null = ::open("/dev/null", O_RDWR);
  for (int fd : {0, 1, 2}) ::dup2(null, fd);
  ::close_range(kFirstOpen, ~0U, 0);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;  // orphans are reaped by the kernel
  ::sigaction(SIGCHLD, &ignore, nullptr);
  ::execl(kSleep, "sleep", "infinity", nullptr);
  ::_exit(127);
}

// The namespace's first process is a grandchild: whoever made the namespace stays outside of it.
[[noreturn]] void fork_pause(int report) {
  if (::unshare(CLONE_NEWPID) != 0) ::_exit(errno);
  pid_t pid = ::fork();
  if (pid < 0) ::_exit(errno);
  if (pid == 0) become_pause();
  ::_exit(::write(report, &pid, sizeof pid) == sizeof pid ? 0 : EIO);
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
  Pipe report = TRY(make_pipe());
  pid_t child = ::fork();
  if (child < 0) return errno_error("fork");
  if (child == 0) fork_pause(report.write.get());
  report.write.close();
  pid_t pid = 0;
  const bool told = ::read(report.read.get(), &pid, sizeof pid) == sizeof pid;
  const int status = hekla::agent::wait_for(child);
  if (!told || status != 0)
    return errno_error("make a process namespace for the pod", status);
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
  if (place && std::from_chars(text.data(), text.data() + text.size(), pid).ec == std::errc{} && pid > 1)
    ::kill(pid, SIGKILL);
}

Result<std::string> pause_namespace(const std::string& pid_file) {
  std::string text = TRY(read_file(pid_file));
  const std::string path = "/proc/" + text + "/ns/pid";
  Result<std::string> name = read_file("/proc/" + text + "/comm");
  if (text.empty() || !name || !name->starts_with("sleep"))
    return fail(Code::unavailable, "the pod's first process is gone");
  return path;
}

}  // namespace hekla::agent
