// hekla version, help: what this binary is, and what its commands do.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/build_info.h"
#include "cli/verb.h"
#include "json/parse.h"

namespace hekla::cli {
namespace {

int print_version(const Context& context, const std::string& output) {
  const BuildInfo& build = build_info();
  const std::string page = context.has_page ? "built in" : "not built in (npm was not there)";
  if (!output.empty()) {
    const json::Value facts = json::Object{
        {"version", build.version},       {"commit", build.commit},  {"commitDate", build.day},
        {"compiler", build.compiler},     {"build", build.kind},     {"libraries", build.libraries},
        {"kubernetes", build.kubernetes}, {"page", context.has_page}};
    const std::string text =
        output == "yaml" ? json::to_yaml(facts) : json::serialize(facts) + "\n";
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  const std::string day = *build.day != 0 ? std::string(" of ") + build.day : "";
  std::printf("hekla %s (commit %s%s, %s)\n", build.version, build.commit, day.c_str(),
              build.compiler);
  for (const auto& [name, text] :
       {std::pair<const char*, std::string>{"build", build.kind},
        {"libraries", build.libraries},
        {"page", page},
        {"Kubernetes API", std::string("as ") + build.kubernetes + " serves it"}})
    std::printf("  %-15s %s\n", name, text.c_str());
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
          .flags = {Flag("-o,--output", *output, "for programs").with(one_of({"json", "yaml"}))},
          .run = [&context, output] { return print_version(context, *output); },
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
