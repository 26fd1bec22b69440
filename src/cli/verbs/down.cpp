// hekla down: stops the platform of a data directory; its pods end gracefully and nothing is left
// behind.
#include <cstdio>
#include <memory>

#include "cli/instance.h"
#include "cli/platform_choice.h"
#include "cli/up_options.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

struct DownOptions {
  std::string data_dir;
  int timeout_seconds = 60;
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

int down(const Context& context, const DownOptions& options) {
  Result<std::string> data_dir = choose_data_dir(options.data_dir);
  if (!data_dir) {
    complain(data_dir.error().message);
    return kUsage;
  }
  const std::chrono::seconds timeout(options.timeout_seconds);
  if (!find_instance(*data_dir)) return stop_leftovers(context, *data_dir, timeout);
  if (Result<void> stopped = stop_instance(*data_dir, timeout); !stopped) {
    complain(stopped.error().message);
    return kFailed;
  }
  std::printf("hekla on %s is stopped\n", data_dir->c_str());
  return 0;
}

std::vector<Command> down_commands(const Context& context) {
  auto options = std::make_shared<DownOptions>();
  return {{
      .name = "down",
      .summary = "stop the platform and its pods; leaves nothing running",
      .flags = {chosen_data_dir_flag(options->data_dir),
                Flag("--timeout", options->timeout_seconds, "seconds to wait for it")},
      .run = [&context, options] { return down(context, *options); },
  }};
}

}  // namespace

extern const Verb verb_down;
const Verb verb_down{"down", down_commands};

}  // namespace hekla::cli
