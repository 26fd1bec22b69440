// hekla version: what this binary is.
#include <cstdio>
#include <memory>

#include "base/build_info.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

int print_version(const std::string& output) {
  const BuildInfo& build = build_info();
  if (output == "json")
    std::printf(
        "{\"version\":\"%s\",\"commit\":\"%s\",\"compiler\":\"%s\",\"kubernetes\":\"%s\"}\n",
        build.version, build.commit, build.compiler, build.kubernetes);
  else
    std::printf("hekla %s (commit %s, %s)\nserves the Kubernetes API as %s\n", build.version,
                build.commit, build.compiler, build.kubernetes);
  return 0;
}

std::vector<Command> version_commands(const Context&) {
  auto output = std::make_shared<std::string>();
  return {{
      .name = "version",
      .summary = "print the version and what it was built from",
      .flags = {Flag("-o,--output", *output, "json for programs").with(one_of({"json"}))},
      .run = [output] { return print_version(*output); },
  }};
}

}  // namespace

extern const Verb verb_version;
const Verb verb_version{"version", version_commands};

}  // namespace hekla::cli
