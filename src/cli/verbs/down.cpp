// hekla down: stops the platform of a data directory; its pods end gracefully and nothing is left
// behind.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/instance.h"
#include "cli/platform_choice.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

struct Options {
  std::string data_dir;
  int timeout_seconds = 60;
};

int down(const Context& context, const Options& options) {
  std::chrono::seconds patience(options.timeout_seconds);
  if (!find_instance(options.data_dir)) {
    // A crashed instance leaves its pods running: start once more, without anything that would
    // start new ones, and stop.
    if (!has_left_pods(options.data_dir)) {
      std::printf("hekla is not running on %s; nothing to stop\n", options.data_dir.c_str());
      return 0;
    }
    Result<std::unique_ptr<ChildInstance>> child =
        ChildInstance::start(context.executable, arguments_to_stop(options.data_dir), patience);
    if (!child) {
      complain("clean up after a crash in " + options.data_dir + ": " + child.error().message);
      return kFailed;
    }
    (*child)->stop();
    std::printf("hekla was not running; what it had left running in %s is stopped\n",
                options.data_dir.c_str());
    return 0;
  }
  if (Result<void> stopped = stop_instance(options.data_dir, patience); !stopped) {
    complain(stopped.error().message);
    return kFailed;
  }
  std::printf("hekla on %s is stopped\n", options.data_dir.c_str());
  return 0;
}

void declare(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("down", "stop the platform and its pods; leaves nothing running");
  command->add_option(
      "--data-dir", options->data_dir,
      "which platform (default: that of $KUBECONFIG, or " + default_data_dir() + ")");
  command->add_option("--timeout", options->timeout_seconds, "seconds to wait for it")
      ->capture_default_str();
  command->callback([&context, options] {
    Result<std::string> data_dir = choose_data_dir(options->data_dir);
    if (!data_dir) {
      complain(data_dir.error().message);
      context.exit_code = kUsage;
      return;
    }
    options->data_dir = std::move(*data_dir);
    context.exit_code = down(context, *options);
  });
}

}  // namespace

extern const Verb verb_down;
const Verb verb_down{"down", declare};

}  // namespace hekla::cli
