#include "base/command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/check.h"
#include "base/clock.h"

extern char** environ;

namespace hekla {
namespace {

constexpr std::size_t kMaxOutput = 1u << 20;

std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
  std::vector<std::string> merged = added;
  for (char** one = environ; *one; ++one) {
    const std::string_view inherited(*one);
    const std::string_view name = inherited.substr(0, inherited.find('=') + 1);
    bool replaced = false;
    for (const std::string& mine : added) replaced = replaced || mine.starts_with(name);
    if (!replaced) merged.emplace_back(inherited);
  }
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

Result<pid_t> spawn(std::vector<std::string> argv, std::vector<std::string> environment,
                    int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, argv[0].c_str(), &actions, &attributes,
                                    pointers(argv).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return fail(failed == ENOENT ? Code::not_found : Code::unavailable,
                "start " + argv[0] + ": " + std::strerror(failed));
  return pid;
}

// What comes out of the pipe until its other end is closed.
Result<std::string> read_output(int from, MonoTime deadline) {
  std::string output;
  std::array<char, 4096> buffer;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - real_clock().mono())
            .count();
    pollfd waiting{from, POLLIN, 0};
    const int ready = left <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return fail(Code::timeout, "did not finish in time");
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return output;
    output.append(buffer.data(), static_cast<std::size_t>(got));
    if (output.size() > kMaxOutput) return fail(Code::too_large, "wrote more than 1 MiB");
  }
}

// A program may close its output long before its end.
bool ends_by(pid_t pid, MonoTime deadline, int& status) {
  while (::waitpid(pid, &status, WNOHANG) != pid) {
    if (real_clock().mono() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

Result<CommandOutcome> run_command(const std::vector<std::string>& argv,
                                   const std::vector<std::string>& environment,
                                   std::chrono::milliseconds patience) {
  CHECK(!argv.empty(), "a command has a name");
  const MonoTime deadline = real_clock().mono() + patience;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(Code::unavailable, std::string("make a pipe: ") + std::strerror(errno));
  Result<pid_t> pid = spawn(argv, merged_environment(environment), ends[1]);
  ::close(ends[1]);
  Result<std::string> output = pid ? read_output(ends[0], deadline) : std::unexpected(pid.error());
  ::close(ends[0]);
  if (!pid) return std::unexpected(pid.error());
  int status = 0;
  if (output && !ends_by(*pid, deadline, status))
    output = fail(Code::timeout, "did not finish in time");
  if (!output) {
    ::kill(*pid, SIGKILL);
    while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (!output) return fail(output.error().code, argv[0] + " " + output.error().message);
  return CommandOutcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                        std::move(*output)};
}

}  // namespace hekla
