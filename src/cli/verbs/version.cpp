// hekla version, help: what this binary is, and what its commands do.
#include <algorithm>
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

// Words that name no command are answered as on any command line.
int print_help(const Context& context, std::vector<std::string> words) {
  const Command root = all_commands(context);
  const Command* at = &root;
  for (const std::string& word : words) {
    auto below = std::ranges::find(at->commands, word, &Command::name);
    if (below == at->commands.end()) return run_command_line(root, std::move(words));
    at = &*below;
  }
  words.emplace_back("--help");
  return run_command_line(root, std::move(words));
}

std::vector<Command> version_commands(const Context& context) {
  auto output = std::make_shared<std::string>();
  auto words = std::make_shared<std::vector<std::string>>();
  return {
      {
          .name = "version",
          .summary = "print the version and what it was built from",
          .flags = {Flag("-o,--output", *output, "json for programs").with(one_of({"json"}))},
          .run = [output] { return print_version(*output); },
      },
      {
          .name = "help",
          .summary = "print the help of a command",
          .flags = {Flag("command", *words, "such as: up, or job run")},
          .run = [&context, words] { return print_help(context, *words); },
      },
  };
}

}  // namespace

extern const Verb verb_version;
const Verb verb_version{"version", version_commands};

}  // namespace hekla::cli
