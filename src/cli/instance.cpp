#include "cli/instance.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "base/disk.h"
#include "cli/status/log_file.h"
#include "cli/status/running.h"

extern char** environ;

namespace hekla::cli {
namespace {

std::string lock_path(const std::string& data_dir) { return data_dir + "/lock"; }

int read_pid(const std::string& data_dir) {
  Result<std::string> text = read_file(lock_path(data_dir));
  int pid = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), pid);
  return pid;
}

bool is_locked(const std::string& data_dir) {
  int fd = ::open(lock_path(data_dir).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool locked = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return locked;
}

void nap() { ::poll(nullptr, 0, 20); }

// A process that has ended and that nobody has waited for yet runs no program any more.
bool is_alive(int pid) {
  char program[1];
  return ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), program, 1) > 0;
}

}  // namespace

Result<void> check_readable(const std::string& data_dir) {
  if (::access(lock_path(data_dir).c_str(), R_OK) == 0 || errno != EACCES) return {};
  return fail(Code::forbidden, "you may not read " + data_dir +
                                   ", where another user's platform has its data: use sudo, or "
                                   "name a directory of yours with --data-dir");
}

std::optional<Instance> find_instance(const std::string& data_dir) {
  if (!is_locked(data_dir)) return std::nullopt;
  return Instance{read_pid(data_dir), data_dir + "/admin.kubeconfig"};
}

Result<std::unique_ptr<InstanceLock>> InstanceLock::take(const std::string& data_dir) {
  std::error_code error;
  std::filesystem::create_directories(data_dir, error);
  if (error) return fail(Code::internal, "create " + data_dir + ": " + error.message());
  ::chmod(data_dir.c_str(), 0700);
  std::string path = lock_path(data_dir);
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return fail(Code::internal, "open " + path + ": " + std::strerror(errno));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd);
    const int pid = read_pid(data_dir);
    const std::optional<Running> facts = read_running(data_dir, pid);
    const std::string where = facts ? " at " + facts->url : "";
    return fail(Code::conflict, "hekla is already running on " + data_dir + where + " (pid " +
                                    std::to_string(pid) + "); hekla status --data-dir " + data_dir +
                                    " tells more, hekla down --data-dir " + data_dir + " stops it");
  }
  std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd, 0) != 0 || ::write(fd, pid.data(), pid.size()) < 0)
    return fail(Code::internal, "write " + path + ": " + std::strerror(errno));
  return std::make_unique<InstanceLock>(fd);
}

bool has_left_pods(const std::string& data_dir) {
  std::error_code error;
  std::filesystem::directory_iterator pods(data_dir + "/pods", error);
  // The holder of a rootless platform's namespaces is something left, too.
  return (!error && pods != std::filesystem::directory_iterator()) ||
         std::filesystem::exists(data_dir + "/holder", error);
}

InstanceLock::~InstanceLock() { ::close(fd_); }

Result<void> stop_instance(const std::string& data_dir, std::chrono::seconds timeout,
                           PodsAtStop pods) {
  int pid = read_pid(data_dir);
  if (pid <= 1 || !is_locked(data_dir)) return {};
  sigval bears{};
  bears.sival_int = pods == PodsAtStop::keep ? kKeepPods : 0;
  if (::sigqueue(pid, SIGTERM, bears) != 0)
    return fail(Code::forbidden,
                "signal process " + std::to_string(pid) + ": " + std::strerror(errno));
  // A second signal, of another kind, lets nobody have time.
  if (pods == PodsAtStop::end_now) ::kill(pid, SIGINT);
  MonoTime deadline = real_clock().mono() + timeout;
  while (is_locked(data_dir)) {
    if (real_clock().mono() > deadline)
      return fail(Code::timeout, "process " + std::to_string(pid) + " has not ended within " +
                                     std::to_string(timeout.count()) + " s");
    nap();
  }
  // The lock is free a moment before the process is gone.
  while (is_alive(pid) && real_clock().mono() < deadline) nap();
  return {};
}

Result<std::unique_ptr<ChildInstance>> ChildInstance::start(const std::string& executable,
                                                            std::vector<std::string> arguments,
                                                            std::chrono::seconds timeout,
                                                            const std::string& log) {
  if (!log.empty()) TRY(begin_log(log));
  int pipe_fds[2];
  if (::pipe2(pipe_fds, O_CLOEXEC) != 0) return fail(Code::internal, "pipe: no descriptors left");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
  if (!log.empty())
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_APPEND, 0);
  // Its own process group: Ctrl-C reaches us first, and we stop it in order.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, pipe_signal;
  sigemptyset(&none);
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  arguments.insert(arguments.begin(), executable);
  arguments.emplace_back("--end-with-output");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  auto child = std::make_unique<ChildInstance>();
  pid_t pid = 0;
  int rc = ::posix_spawn(&pid, executable.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(pipe_fds[1]);
  child->output_ = pipe_fds[0];
  if (rc == 0) child->pid_ = pid;
  if (rc != 0) return fail(Code::internal, "start " + executable + ": " + std::strerror(rc));

  MonoTime deadline = real_clock().mono() + timeout;
  while (child->ready_line_.find('\n') == std::string::npos) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - real_clock().mono());
    pollfd wait{child->output_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) == 0)
      return fail(Code::timeout,
                  "hekla up was not ready within " + std::to_string(timeout.count()) + " s");
    char buffer[512];
    ssize_t n = ::read(child->output_, buffer, sizeof buffer);
    if (n <= 0) {
      const std::string complaint = log.empty() ? "" : last_complaint(log);
      return fail(Code::unavailable,
                  complaint.empty() ? "hekla up ended before it was ready" : complaint);
    }
    child->ready_line_.append(buffer, static_cast<std::size_t>(n));
  }
  child->ready_line_.resize(child->ready_line_.find('\n'));
  return child;
}

int ChildInstance::stop() {
  const pid_t pid = pid_;
  if (pid <= 0) return 0;
  ::kill(pid, SIGTERM);
  // The process keeps its number until hurry() can no longer name it.
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Another signal than stop()'s: two of one kind may arrive as one.
void ChildInstance::hurry() {
  if (const pid_t pid = pid_; pid > 0) ::kill(pid, SIGINT);
}

ChildInstance::~ChildInstance() {
  stop();
  if (output_ >= 0) ::close(output_);
}

}  // namespace hekla::cli
