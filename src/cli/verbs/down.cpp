// hekla down: stops the platform of a data directory; its pods end gracefully and nothing is left
// behind.
#include <cstdio>
#include <memory>

#include "cli/instance.h"
#include "cli/live/progress.h"
#include "cli/platform_choice.h"
#include "cli/status/overview.h"
#include "cli/up_options.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

struct DownOptions {
  std::string data_dir;
  int timeout_seconds = 60;
  bool keep_pods = false, now = false, quiet = false;
};

// A crashed platform leaves its pods running: it is started once more, without anything that would
// start new ones, and stopped.
int stop_leftovers(const Context& context, const std::string& data_dir,
                   std::chrono::seconds timeout) {
  if (!has_left_pods(data_dir)) {
    std::printf("hekla is not running on %s; nothing to stop\n", data_dir.c_str());
    return 0;
  }
  Result<std::unique_ptr<ChildInstance>> child =
      ChildInstance::start(context.executable, arguments_to_stop(data_dir), timeout);
  if (!child) {
    complain("clean up after a crash in " + data_dir + ": " + child.error().message);
    return kFailed;
  }
  (*child)->stop();
  std::printf("hekla was not running; what it had left running in %s is stopped\n",
              data_dir.c_str());
  return 0;
}

// How many pods run there; 0 where that cannot be told.
int count_running_pods(const Instance& instance) {
  Result<kube::ClusterAccess> access = kube::load_kubeconfig(instance.kubeconfig);
  if (!access) return 0;
  access->http.connect_timeout = std::chrono::seconds(3);
  Result<std::unique_ptr<ApiSession>> session = ApiSession::open(*access);
  if (!session) return 0;
  Result<Overview> overview = read_overview(**session);
  return overview ? overview->pods["Running"] : 0;
}

std::string pods_text(int count) { return std::to_string(count) + (count == 1 ? " pod" : " pods"); }

int stop(const std::string& data_dir, const Instance& instance, const DownOptions& options) {
  const int pods = count_running_pods(instance);
  const PodsAtStop what = options.keep_pods ? PodsAtStop::keep
                          : options.now     ? PodsAtStop::end_now
                                            : PodsAtStop::end;
  std::string waiting = "stopping hekla on " + data_dir;
  if (pods > 0 && what == PodsAtStop::end)
    waiting = "waiting for " + pods_text(pods) +
              " to end (each has its grace period, 30 s if it names none; hekla down --now gives "
              "none)";
  Result<void> stopped;
  {
    const Progress progress(options.quiet, waiting);
    stopped = stop_instance(data_dir, std::chrono::seconds(options.timeout_seconds), what);
  }
  if (!stopped) {
    complain(stopped.error().message);
    return kFailed;
  }
  std::string ended;
  if (pods > 0)
    ended = "; " + pods_text(pods) +
            (options.keep_pods ? std::string(" left running, and the next hekla up goes on with ") +
                                     (pods == 1 ? "it" : "them")
                               : " ended");
  std::printf("hekla on %s is stopped%s\n", data_dir.c_str(), ended.c_str());
  return 0;
}

int down(const Context& context, const DownOptions& options) {
  Result<std::string> data_dir = choose_data_dir(options.data_dir);
  if (!data_dir || (options.keep_pods && options.now)) {
    complain(data_dir ? "--keep-pods and --now say two different things: give one of them"
                      : data_dir.error().message);
    return kUsage;
  }
  if (Result<void> readable = check_readable(*data_dir); !readable) {
    complain(readable.error().message);
    return kFailed;
  }
  if (std::optional<Instance> instance = find_instance(*data_dir))
    return stop(*data_dir, *instance, options);
  if (options.keep_pods) {
    std::printf("hekla is not running on %s; nothing to stop\n", data_dir->c_str());
    return 0;
  }
  const Progress progress(options.quiet, "cleaning up after a crash in " + *data_dir);
  return stop_leftovers(context, *data_dir, std::chrono::seconds(options.timeout_seconds));
}

std::vector<Command> down_commands(const Context& context) {
  auto options = std::make_shared<DownOptions>();
  return {{
      .name = "down",
      .summary = "stop the platform and its pods; leaves nothing running",
      .flags = {chosen_data_dir_flag(options->data_dir),
                Flag("--keep-pods", options->keep_pods,
                     "stop the platform alone: pods run on, and the next hekla up takes them over"),
                Flag("--now", options->now, "pods get no time to end by themselves"),
                Flag("--timeout", options->timeout_seconds, "seconds to wait for it"),
                quiet_flag(options->quiet)},
      .run = [&context, options] { return down(context, *options); },
      .footer = "Examples:\n"
                "  hekla down                        end pods gracefully, then the platform\n"
                "  hekla down --keep-pods            for a new binary: jobs do not notice\n"
                "  hekla down --data-dir ~/try       the platform of another directory",
  }};
}

}  // namespace

extern const Verb verb_down;
const Verb verb_down{"down", down_commands};

}  // namespace hekla::cli
