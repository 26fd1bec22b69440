#include "cli/end_signal.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"

namespace hekla::cli {
namespace {

constexpr int kAtOnce = 3;  // the count of signals at which nothing is waited for any more

bool is_ignored(int signal) {
  struct sigaction now{};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

sigset_t block_ending_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  for (int one : {SIGTERM, SIGINT, SIGHUP})
    if (!is_ignored(one)) sigaddset(&ending, one);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  return ending;
}

// Files and terminals have no reader to lose; a terminal that hangs up sends SIGHUP.
bool has_reader(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

[[noreturn]] void die_of(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

}  // namespace

const char* signal_name(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    case SIGPIPE:
      return "SIGPIPE";
    default:
      return "signal";
  }
}

// The mask is set before the members that follow make their threads.
EndSignal::EndSignal(Output output) : ending_(block_ending_signals()) {
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = ::signalfd(-1, &ending_, SFD_CLOEXEC | SFD_NONBLOCK);
  stop_ = ::eventfd(0, EFD_CLOEXEC);
  CHECK(signals_ >= 0 && stop_ >= 0, "a process that starts has descriptors left");
  const bool output_counts = output == Output::until_closed && has_reader(STDOUT_FILENO);
  Task watching = [this, output_counts] { watch(output_counts); };
  CHECK(watcher_.try_post(watching), "an idle worker takes a task");
}

EndSignal::~EndSignal() {
  ::eventfd_write(stop_, 1);
  watcher_.stop();
  ::close(signals_);
  ::close(stop_);
  pthread_sigmask(SIG_UNBLOCK, &ending_, nullptr);
}

int EndSignal::wait() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return count_ > 0; });
  log_info("main", "stopping", {{"signal", signal_name(first_)}});
  return first_;
}

int EndSignal::wait_for(Nanos timeout) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, timeout, [this] { return count_ > 0; });
  return first_;
}

int EndSignal::first() const {
  std::lock_guard lock(mutex_);
  return first_;
}

int EndSignal::value() const {
  std::lock_guard lock(mutex_);
  return value_;
}

void EndSignal::on_signal(Handler handler) {
  std::lock_guard lock(mutex_);
  handler_ = std::move(handler);
  if (handler_ && count_ > 0) handler_(first_, count_);
}

void EndSignal::received(int signal, int value) {
  std::lock_guard lock(mutex_);
  ++count_;
  if (count_ == 1) {
    first_ = signal;
    value_ = value;
  }
  if (count_ >= kAtOnce || (count_ > 1 && !handler_)) die_of(signal);
  arrived_.notify_all();
  if (handler_) handler_(signal, count_);
}

void EndSignal::watch(bool output) {
  while (true) {
    pollfd ready[] = {{stop_, POLLIN, 0},
                      {signals_, POLLIN, 0},
                      {output ? STDOUT_FILENO : -1, 0, 0}};  // errors are always reported
    ::poll(ready, std::size(ready), -1);
    if (ready[0].revents != 0) return;
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) == sizeof info)
      received(static_cast<int>(info.ssi_signo), info.ssi_code == SI_QUEUE ? info.ssi_int : 0);
    if (ready[2].revents == 0) continue;
    output = false;
    if (first() == 0) received(SIGPIPE, 0);
  }
}

}  // namespace hekla::cli
