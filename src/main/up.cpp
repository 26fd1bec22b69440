#include "main/up.h"

#include <unistd.h>

#include "agent/rootless.h"
#include "base/clock.h"
#include "cli/end_signal.h"
#include "cli/instance.h"
#include "cli/up_front.h"
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

int run_platform(const cli::UpOptions& options, const agent::Holder* rootless, bool& keep_pods) {
  cli::EndSignal end(options.end_with_output ? cli::EndSignal::Output::until_closed
                                             : cli::EndSignal::Output::ignored);
  cli::UpFront front(options);
  MonoTime begin = real_clock().mono();
  Result<std::unique_ptr<Platform>> platform = Platform::start(options);
  if (!platform) {
    front.failed();
    cli::complain(platform.error().message);
    return cli::kFailed;
  }
  cli::UpFacts facts{.url = (*platform)->url(),
                     .kubeconfig = (*platform)->kubeconfig(),
                     .nodes = (*platform)->nodes(),
                     .web = (*platform)->web_url(),
                     .objects = (*platform)->objects_url(),
                     .notice = {},
                     .took = real_clock().mono() - begin};
  if (rootless && !options.only_stop) {
    const std::string closed = options.agent.outside ? agent::outside_obstacle() : "--no-outside";
    facts.notice = agent::rootless_notice(rootless->user(), closed);
  }
  front.ready(facts);

  // Before the first signal: the second may come with it, and must find somebody who ends the pods.
  end.on_signal([&](int, int count) {
    if (count < 2) return;
    front.hurried();
    (*platform)->hurry();
  });
  end.wait();
  keep_pods = end.value() == cli::kKeepPods;
  front.stopping(keep_pods);
  (*platform)->stop(keep_pods);
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
  bool keep_pods = false;
  int code = run_platform(options, rootless.get(), keep_pods);
  // Pods that run on need the namespaces they run in.
  if (rootless && !keep_pods) end_rootless(*rootless, options.data_dir);
  return code;
}

}  // namespace hekla
