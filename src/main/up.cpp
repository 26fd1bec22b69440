#include "main/up.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "base/clock.h"
#include "base/log.h"
#include "cli/verb.h"
#include "main/platform.h"

namespace hekla {
namespace {

LogLevel level_of(const std::string& name) {
  if (name == "debug") return LogLevel::debug;
  if (name == "info") return LogLevel::info;
  if (name == "error") return LogLevel::error;
  return LogLevel::warn;
}

}  // namespace

int run_up(const cli::UpOptions& options) {
  set_log_level(level_of(options.log_level));
  // Before any thread is made, so that every thread inherits the mask and only sigwait sees them.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  sigaddset(&ending, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  MonoTime begin = real_clock().mono();
  Result<std::unique_ptr<Platform>> platform = Platform::start(options);
  if (!platform) {
    cli::complain(platform.error().message);
    return cli::kFailed;
  }
  double ms = std::chrono::duration<double, std::milli>(real_clock().mono() - begin).count();
  std::printf("hekla is ready at %s after %.0f ms: %s; KUBECONFIG=%s\n", (*platform)->url().c_str(),
              ms, (*platform)->nodes().c_str(), (*platform)->kubeconfig().c_str());
  std::fflush(stdout);

  int received = 0;
  sigwait(&ending, &received);
  log_info("main", "stopping",
           {{"signal", received == SIGTERM  ? "SIGTERM"
                       : received == SIGINT ? "SIGINT"
                                            : "SIGHUP"}});
  // A second signal while stopping ends at once.
  pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
  platform->reset();
  return 0;
}

}  // namespace hekla
