#include "agent/os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

namespace hekla::agent {
namespace {

constexpr std::size_t kOutputLimit = 64 * 1024;
// To crun and runc: they need not protect themselves where they lie on a read-only mount
// (programs.h).
constexpr const char* kProtected = "_LIBCONTAINER_CLONED_BINARY=1";
constexpr const char* kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class SpawnAttributes {
 public:
  explicit SpawnAttributes(short extra_flags) {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, static_cast<short>(POSIX_SPAWN_SETSIGMASK |
                                                              POSIX_SPAWN_SETSIGDEF | extra_flags));
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// The system's own programs have the system's libraries.
bool needs_bundled_libraries(const std::string& program) {
  const std::string& bundled = bundled_directory();
  if (bundled.empty()) return false;
  return program.starts_with(bundled) ||
         !(program.starts_with("/usr/") || program.starts_with("/sbin/"));
}

Result<pid_t> spawn(std::vector<std::string> argv, std::vector<std::string> environment,
                    SpawnActions& actions, const SpawnAttributes& attributes) {
  // execve takes char* for historical reasons, so the strings are copies of our own.
  auto pointers = [](std::vector<std::string>& strings) {
    std::vector<char*> out;
    for (std::string& text : strings) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
  };
  environment.insert(environment.end(), {kPath, kProtected});
  if (needs_bundled_libraries(argv[0]))
    environment.push_back("LD_LIBRARY_PATH=" + bundled_directory());
  pid_t pid = -1;
  int failed = ::posix_spawnp(&pid, argv[0].c_str(), actions.get(), attributes.get(),
                              pointers(argv).data(), pointers(environment).data());
  if (failed != 0) return errno_error("start " + argv[0], failed);
  return pid;
}

}  // namespace

const std::string& bundled_directory() {
  static const std::string found = [] {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    std::string out = (program.parent_path().parent_path() / "lib").string();
    return ::access((out + "/conmon").c_str(), X_OK) == 0 ? out : std::string();
  }();
  return found;
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("make a pipe");
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Result<pid_t> start_process(const std::vector<std::string>& argv, int in, int out, int err) {
  SpawnActions actions;
  posix_spawn_file_actions_adddup2(actions.get(), in, 0);
  posix_spawn_file_actions_adddup2(actions.get(), out, 1);
  posix_spawn_file_actions_adddup2(actions.get(), err, 2);
  posix_spawn_file_actions_addclosefrom_np(actions.get(), 3);
  SpawnAttributes attributes(POSIX_SPAWN_SETSID);
  return spawn(argv, {}, actions, attributes);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 255;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<ProcessOutcome> run_process(const std::vector<std::string>& argv) {
  Pipe pipe = TRY(make_pipe());
  SpawnActions actions;
  posix_spawn_file_actions_addopen(actions.get(), 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions.get(), pipe.write.get(), 1);
  posix_spawn_file_actions_adddup2(actions.get(), 1, 2);
  posix_spawn_file_actions_addclosefrom_np(actions.get(), 3);
  SpawnAttributes attributes(0);
  pid_t pid = TRY(spawn(argv, {}, actions, attributes));
  pipe.write.close();
  ProcessOutcome outcome;
  char buffer[4096];
  while (true) {
    ssize_t n = ::read(pipe.read.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    std::size_t room = kOutputLimit - outcome.output.size();
    outcome.output.append(buffer, std::min(room, static_cast<std::size_t>(n)));
  }
  outcome.status = wait_for(pid);
  return outcome;
}

Result<std::string> run_checked(const std::vector<std::string>& argv) {
  ProcessOutcome outcome = TRY(run_process(argv));
  if (outcome.status == 0) return std::move(outcome.output);
  std::string words = std::move(outcome.output);
  while (!words.empty() && words.back() == '\n') words.pop_back();
  if (words.empty()) words = "exit status " + std::to_string(outcome.status);
  return fail(Code::internal, argv[0] + ": " + words);
}

Result<Launched> launch_detached(const std::vector<std::string>& argv,
                                 const std::string& status_variable,
                                 const std::string& stderr_path) {
  Pipe pipe = TRY(make_pipe());
  if (pipe.write.get() == 3) {
    // dup2 onto itself would keep close-on-exec; move the end out of the way.
    int moved = ::fcntl(3, F_DUPFD_CLOEXEC, 10);
    if (moved < 0) return errno_error("duplicate a pipe");
    pipe.write = FileDescriptor(moved);
  }
  SpawnActions actions;
  posix_spawn_file_actions_addopen(actions.get(), 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(actions.get(), 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(actions.get(), 2, stderr_path.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(actions.get(), pipe.write.get(), 3);
  posix_spawn_file_actions_addclosefrom_np(actions.get(), 4);
  SpawnAttributes attributes(POSIX_SPAWN_SETSID);
  Launched launched;
  launched.pid = TRY(spawn(argv, {status_variable + "=3"}, actions, attributes));
  launched.status_pipe = std::move(pipe.read);
  return launched;
}

Result<std::string> read_line(int fd, std::chrono::milliseconds timeout) {
  std::string line;
  char buffer[4096];
  while (true) {
    pollfd waiting{fd, POLLIN, 0};
    int ready = ::poll(&waiting, 1, static_cast<int>(timeout.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return fail(Code::timeout, "no answer within the time limit");
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read a status pipe");
    if (n == 0) return line;
    line.append(buffer, static_cast<std::size_t>(n));
    if (std::size_t end = line.find('\n'); end != std::string::npos) return line.substr(0, end);
    if (line.size() > kOutputLimit) return fail(Code::too_large, "the status line is too long");
  }
}

}  // namespace hekla::agent
