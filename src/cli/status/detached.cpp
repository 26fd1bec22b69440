#include "cli/status/detached.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/clock.h"
#include "cli/status/log_file.h"

extern char** environ;

namespace hekla::cli {
namespace {

// A session of its own: neither Ctrl-C nor the end of the terminal reaches it.
Result<pid_t> spawn(const DetachedStart& start) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, start.log.c_str(), O_WRONLY | O_APPEND,
                                   0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> arguments = start.arguments;
  arguments.insert(arguments.begin(), start.executable);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int rc =
      ::posix_spawn(&pid, start.executable.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (rc != 0) return fail(Code::internal, "start " + start.executable + ": " + std::strerror(rc));
  return pid;
}

}  // namespace

Result<Running> start_detached(const DetachedStart& start) {
  TRY(begin_log(start.log));
  const pid_t pid = TRY(spawn(start));
  const MonoTime deadline = real_clock().mono() + start.timeout;
  while (true) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) {
      const std::string words = last_complaint(start.log);
      return fail(Code::internal,
                  words.empty() ? "it ended before it was ready; its log is " + start.log : words);
    }
    if (std::optional<Running> facts = read_running(start.data_dir, pid)) return *facts;
    const bool tired = real_clock().mono() > deadline;
    if (tired || (start.gives_up && start.gives_up())) {
      ::kill(pid, SIGTERM);
      return fail(Code::timeout, tired ? "it was not ready within " +
                                             std::to_string(start.timeout.count()) +
                                             " s and has been told to end; its log is " + start.log
                                       : "interrupted: it has been told to end");
    }
    ::poll(nullptr, 0, 30);
  }
}

}  // namespace hekla::cli
