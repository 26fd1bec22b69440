#include "main/up.h"

#include <cstdio>

#include "base/clock.h"
#include "cli/verb.h"
#include "main/end_signal.h"
#include "main/platform.h"

namespace hekla {
LogLevel log_level_of(const std::string& name) {
  if (name == "debug") return LogLevel::debug;
  if (name == "info") return LogLevel::info;
  if (name == "error") return LogLevel::error;
  return LogLevel::warn;
}

int run_up(const cli::UpOptions& options) {
  set_log_level(log_level_of(options.log_level));
  EndSignal end;

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

  end.wait();
  platform->reset();
  return 0;
}

}  // namespace hekla
