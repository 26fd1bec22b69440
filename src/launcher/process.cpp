#include "launcher/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hekla::launcher {
namespace {

// Written before the handlers are set, read by them.
volatile pid_t child_pid = 0;

void pass_on(int signal) {
  if (child_pid > 0) ::kill(child_pid, signal);
}

std::vector<char*> words_of(std::vector<std::string>& argv) {
  std::vector<char*> words;
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  return words;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 127;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Ended run_command(const std::vector<std::string>& argv) {
  std::vector<std::string> copy = argv;
  std::vector<char*> words = words_of(copy);
  int report[2];
  if (copy.empty() || ::pipe2(report, O_CLOEXEC) != 0) return {127, "there is no command to run"};
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(1, 2);
    ::execvp(words[0], words.data());
    const int why = errno;
    (void)!::write(report[1], &why, sizeof why);
    ::_exit(127);
  }
  ::close(report[1]);
  child_pid = pid;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, pass_on);
  int why = 0;
  const bool failed = ::read(report[0], &why, sizeof why) == sizeof why;
  ::close(report[0]);
  Ended ended{wait_for(pid), {}};
  child_pid = 0;
  if (failed) ended.error = "cannot run " + argv[0] + ": " + std::strerror(why);
  return ended;
}

int run_quietly(const std::vector<std::string>& argv) {
  std::vector<std::string> copy = argv;
  std::vector<char*> words = words_of(copy);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int null = ::open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) ::dup2(null, fd);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  return wait_for(pid);
}

}  // namespace hekla::launcher
