#include "main/up.h"

#include <unistd.h>

#include <cstdio>

#include "agent/rootless.h"
#include "base/clock.h"
#include "cli/end_signal.h"
#include "cli/instance.h"
#include "cli/up_options.h"
#include "cli/verb.h"
#include "main/platform.h"

namespace hekla {

LogLevel log_level_of(const std::string& name) {
  if (name == "debug") return LogLevel::debug;
  if (name == "info") return LogLevel::info;
  if (name == "error") return LogLevel::error;
  return LogLevel::warn;
}

namespace {

int run_platform(const cli::UpOptions& options, const agent::Holder* rootless) {
  cli::EndSignal end(options.end_with_output ? cli::EndSignal::Output::until_closed
                                             : cli::EndSignal::Output::ignored);
  MonoTime begin = real_clock().mono();
  Result<std::unique_ptr<Platform>> platform = Platform::start(options);
  if (!platform) {
    cli::complain(platform.error().message);
    return cli::kFailed;
  }
  double ms = std::chrono::duration<double, std::milli>(real_clock().mono() - begin).count();
  std::printf("hekla is ready at %s after %.0f ms: %s; KUBECONFIG=%s\n", (*platform)->url().c_str(),
              ms, (*platform)->nodes().c_str(), (*platform)->kubeconfig().c_str());
  if (const std::string web = (*platform)->web_url(); !web.empty())
    std::printf("the dashboard is at %s (hekla dashboard opens it)\n", web.c_str());
  if (const std::string objects = (*platform)->objects_url(); !objects.empty())
    std::printf(
        "the object store (S3) is at %s; its keys are in Secret mlpipeline-minio-artifact of "
        "kubeflow\n",
        objects.c_str());
  if (rootless && !options.only_stop) {
    const std::string closed = options.agent.outside ? agent::outside_obstacle() : "--no-outside";
    std::fprintf(stderr, "%s\n", agent::rootless_notice(rootless->user(), closed).c_str());
  }
  std::fflush(stdout);

  // Before the first signal: the second may come with it, and must find somebody who ends the pods.
  end.on_signal([&platform](int, int count) {
    if (count > 1) (*platform)->hurry();
  });
  end.wait();
  (*platform)->stop();
  end.on_signal(nullptr);
  platform->reset();
  return 0;
}

// Ends the namespaces with the platform, unless another process has begun to use them.
void end_rootless(agent::Holder& rootless, const std::string& data_dir) {
  Result<std::unique_ptr<cli::InstanceLock>> lock = cli::InstanceLock::take(data_dir);
  if (lock) rootless.end();
}

}  // namespace

int run_up(const cli::UpOptions& options) {
  set_log_level(log_level_of(options.log_level));
  // While there is one thread only.
  std::unique_ptr<agent::Holder> rootless;
  if (!options.no_agent && ::geteuid() != 0) {
    Result<std::unique_ptr<agent::Holder>> joined = agent::Holder::join(options.data_dir);
    if (!joined && joined.error().code != Code::unavailable) {
      cli::complain(joined.error().message);
      return cli::kFailed;
    }
    if (!joined) {
      const std::string fix = agent::user_namespace_fix();
      cli::complain("running pods needs root, or user namespaces, which do not work here (" +
                    joined.error().message + (fix.empty() ? "" : "; changed by " + fix) +
                    "): use sudo hekla up, or --no-agent to run without this machine's own node");
      return cli::kFailed;
    }
    rootless = std::move(*joined);
  }
  int code = run_platform(options, rootless.get());
  if (rootless) end_rootless(*rootless, options.data_dir);
  return code;
}

}  // namespace hekla
