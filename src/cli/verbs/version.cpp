// hekla version: what this binary is.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/build_info.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

void declare(CLI::App& app, Context& context) {
  auto as_json = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("version", "print the version and what it was built from");
  command->add_option("-o,--output", *as_json, "json")->check(CLI::IsMember({"json"}));
  command->callback([&context, as_json] {
    const BuildInfo& build = build_info();
    if (*as_json == "json")
      std::printf(
          "{\"version\":\"%s\",\"commit\":\"%s\",\"compiler\":\"%s\",\"kubernetes\":\"%s\"}\n",
          build.version, build.commit, build.compiler, build.kubernetes);
    else
      std::printf("hekla %s (commit %s, %s)\nserves the Kubernetes API as %s\n", build.version,
                  build.commit, build.compiler, build.kubernetes);
    context.exit_code = 0;
  });
}

}  // namespace

extern const Verb verb_version;
const Verb verb_version{"version", declare};

}  // namespace hekla::cli
