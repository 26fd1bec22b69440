#include "agent/rootless/holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <vector>

#include "agent/os/file_descriptor.h"
#include "agent/os/instance.h"
#include "agent/os/process.h"
#include "agent/os/root_mount.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

constexpr const char* kSleeper = "/usr/bin/sleep";
constexpr unsigned kFirstInherited = 3;
constexpr int kEndTimeoutMs = 5000;

std::string holder_file(const std::string& data_dir) { return data_dir + "/holder"; }

// When a process began, in the kernel's ticks: with its number it is nobody else.
std::string start_of(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return {};
  std::istringstream fields(text.substr(end_of_name + 1));
  std::string field;
  constexpr int kStartField = 20;  // behind the name
  for (int i = 0; i < kStartField; ++i) fields >> field;
  return field;
}

std::string boot() { return read_file("/proc/sys/kernel/random/boot_id").value_or(""); }

std::string record_of(pid_t pid) {
  return std::to_string(pid) + " " + start_of(pid) + " " + boot();
}

// The holder that the file speaks of, if it is alive; otherwise 0.
pid_t recorded_holder(const std::string& file) {
  const std::string record = read_file(file).value_or("");
  pid_t pid = 0;
  std::istringstream(record) >> pid;
  return pid > 1 && record == record_of(pid) ? pid : 0;
}

Result<void> write_text(const std::string& path, const std::string& text) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) < 0)
    return errno_error("write " + path);
  return {};
}

Result<void> make_namespaces() {
  const std::string user = std::to_string(::geteuid()), group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return errno_error("make a user namespace");
  TRY(write_text("/proc/self/setgroups", "deny"));
  TRY(write_text("/proc/self/uid_map", "0 " + user + " 1"));
  return write_text("/proc/self/gid_map", "0 " + group + " 1");
}

// One thing of the old /run at its place in the new one. What cannot be shown is left out.
void keep_in_run(int old, const std::string& name) {
  const std::string place = "/run/" + name;
  struct stat info{};
  if (::fstatat(old, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (S_ISLNK(info.st_mode)) {
    std::array<char, 4096> target{};
    if (::readlinkat(old, name.c_str(), target.data(), target.size() - 1) < 0) return;
    if (::symlink(target.data(), place.c_str()) != 0) return;
    return;
  }
  if (S_ISDIR(info.st_mode)) {
    if (::mkdir(place.c_str(), 0755) != 0) return;
  } else if (!FileDescriptor(::open(place.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600))) {
    return;
  }
  const std::string source = "/proc/self/fd/" + std::to_string(old) + "/" + name;
  if (::mount(source.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    ::remove(place.c_str());
}

// A /run in which the platform can make its directory, with all that was there (resolv.conf is
// often a link to it).
Result<void> make_own_run() {
  FileDescriptor old(::open("/run", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!old) return errno_error("open /run");
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/run", error))
    names.push_back(entry.path().filename());
  if (::mount("hekla-run", "/run", "tmpfs", MS_NODEV | MS_NOSUID, "mode=755") != 0)
    return errno_error("mount a tmpfs at /run");
  for (const std::string& name : names)
    if (name != "hekla") keep_in_run(old.get(), name);
  return {};
}

Result<void> arrange_mounts() {
  TRY(make_root_a_slave());
  // Control groups are not ours to write, and crun refuses to run where both versions are mounted.
  if (::access("/sys/fs/cgroup", F_OK) == 0 &&
      ::mount("hekla-cgroup", "/sys/fs/cgroup", "tmpfs", MS_NODEV | MS_NOSUID | MS_NOEXEC,
              "size=1m,mode=755") != 0)
    return errno_error("mount a tmpfs at /sys/fs/cgroup");
  return make_own_run();
}

Result<void> make_and_arrange() {
  TRY(make_namespaces());
  return arrange_mounts();
}

// In the child, which has one thread: says what went wrong, or nothing, and stays once it is told
// that it is known.
[[noreturn]] void be_holder(int report, int go) {
  ::setsid();
  if (Result<void> done = make_and_arrange(); !done) {
    const std::string& text = done.error().message;
    [[maybe_unused]] ssize_t written = ::write(report, text.data(), text.size());
    ::_exit(1);
  }
  ::close(report);
  char known = 0;
  if (::read(go, &known, 1) != 1 || ::chdir("/") != 0) ::_exit(0);
  int null = ::open("/dev/null", O_RDWR);
  for (int fd : {0, 1, 2}) ::dup2(null, fd);
  ::close_range(kFirstInherited, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execl(kSleeper, "sleep", "infinity", nullptr);
  ::_exit(127);
}

struct Child {
  pid_t pid = 0;
  FileDescriptor go;  // a byte lets it stay; without one it ends when this is closed
};

Result<Child> start_child() {
  Pipe report = TRY(make_pipe()), go = TRY(make_pipe());
  pid_t pid = ::fork();
  if (pid < 0) return errno_error("fork");
  if (pid == 0) {
    go.write.close();
    be_holder(report.write.get(), go.read.get());
  }
  report.write.close();
  std::string words;
  std::array<char, 512> buffer{};
  for (ssize_t n = 0; (n = ::read(report.read.get(), buffer.data(), buffer.size())) != 0;) {
    if (n < 0 && errno != EINTR) break;
    if (n > 0) words.append(buffer.data(), static_cast<std::size_t>(n));
  }
  if (words.empty()) return Child{pid, std::move(go.write)};
  hekla::agent::wait_for(pid);
  return fail(Code::unavailable, words);
}

// A holder that is in the file before it lives on its own: none is ever forgotten.
Result<pid_t> start_holder(int file) {
  Child child = TRY(start_child());
  const std::string record = record_of(child.pid);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, record.data(), record.size(), 0) < 0 ||
      ::write(child.go.get(), "g", 1) != 1)
    return errno_error("keep the holder's number");
  return child.pid;
}

Result<void> join_namespaces(pid_t pid) {
  FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return errno_error("open the holder's process");
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (::setns(process.get(), CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return errno_error("join the holder's namespaces");
  // Joining leads to the root directory; relative paths have to mean what they did.
  if (!error) std::filesystem::current_path(here, error);
  return {};
}

}  // namespace

Result<std::unique_ptr<Holder>> Holder::join(const std::string& data_dir) {
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(data_dir, error).lexically_normal();
  const uid_t user = ::geteuid();
  TRY(make_directories(absolute));
  const std::string file = holder_file(absolute);
  FileDescriptor lock(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!lock) return errno_error("create " + file);
  if (::flock(lock.get(), LOCK_EX) != 0) return errno_error("lock " + file);
  pid_t pid = recorded_holder(file);
  if (pid == 0) {
    Result<pid_t> started = start_holder(lock.get());
    if (!started) {
      ::unlink(file.c_str());
      return std::unexpected(started.error());
    }
    pid = *started;
  }
  TRY(join_namespaces(pid));
  return std::make_unique<Holder>(Private{}, absolute, pid, user);
}

void Holder::end() {
  std::error_code error;
  if (std::filesystem::exists(instance_paths(data_dir_).run_dir(), error)) return;
  if (recorded_holder(holder_file(data_dir_)) != pid_) return;
  FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!process) return;
  ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  pollfd gone{process.get(), POLLIN, 0};
  ::poll(&gone, 1, kEndTimeoutMs);
  ::waitpid(pid_, nullptr, WNOHANG);  // where it is a child of ours
  ::unlink(holder_file(data_dir_).c_str());
}

Result<void> enter_rootless() {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  TRY(make_and_arrange());
  if (!error) std::filesystem::current_path(here, error);
  return {};
}

Result<void> try_rootless() {
  Child child = TRY(start_child());
  child.go.close();
  hekla::agent::wait_for(child.pid);
  return {};
}

std::string user_namespace_fix(std::string_view unprivileged_userns_clone,
                               std::string_view max_user_namespaces,
                               std::string_view apparmor_restrict_unprivileged_userns) {
  if (unprivileged_userns_clone.starts_with('0'))
    return "sudo sysctl -w kernel.unprivileged_userns_clone=1";
  if (max_user_namespaces.starts_with('0')) return "sudo sysctl -w user.max_user_namespaces=15000";
  if (apparmor_restrict_unprivileged_userns.starts_with('1'))
    return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile "
           "that allows "
           "hekla userns";
  return {};
}

std::string user_namespace_fix() {
  auto setting = [](const char* name) {
    return read_file(std::string("/proc/sys/") + name).value_or("");
  };
  return user_namespace_fix(setting("kernel/unprivileged_userns_clone"),
                            setting("user/max_user_namespaces"),
                            setting("kernel/apparmor_restrict_unprivileged_userns"));
}

}  // namespace hekla::agent
