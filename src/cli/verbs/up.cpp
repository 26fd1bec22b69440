// hekla up: the embedded platform in the foreground, until Ctrl-C, SIGTERM or `hekla down`.
#include <memory>

#include "cli/up_options.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

std::vector<Command> up_commands(const Context& context) {
  auto options = std::make_shared<UpOptions>();
  return {{
      .name = "up",
      .summary = "run the platform on this machine: API server, scheduler, controllers, node agent",
      .flags = up_flags(*options),
      .run = [&context, options] { return context.up(*options); },
      .footer = "Examples:\n"
                "  hekla up --image-map '*=host'\n"
                "  hekla up --no-agent --fake-nodes 1000 --fake-node-resources "
                "cpu=32,memory=256Gi,pods=110",
  }};
}

}  // namespace

extern const Verb verb_up;
const Verb verb_up{"up", up_commands};

}  // namespace hekla::cli
