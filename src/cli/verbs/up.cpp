// hekla up: the embedded platform in the foreground, until Ctrl-C, SIGTERM or `hekla down`.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/verb.h"

namespace hekla::cli {
namespace {

void declare(CLI::App& app, Context& context) {
  auto options = std::make_shared<UpOptions>();
  CLI::App* command = app.add_subcommand(
      "up", "run the platform on this machine: API server, scheduler, controllers, node agent");
  add_up_flags(*command, *options);
  command->footer(
      "Examples:\n"
      "  hekla up --image-map '*=host'\n"
      "  hekla up --no-agent --fake-nodes 1000 --fake-node-resources cpu=32,memory=256Gi,pods=110");
  command->callback([&context, options] { context.exit_code = context.up(*options); });
}

}  // namespace

extern const Verb verb_up;
const Verb verb_up{"up", declare};

}  // namespace hekla::cli
