// hekla completion SHELL: prints a script that completes this command line, made from the commands
// and flags there are.
#include "cli/completion.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/verb.h"

namespace hekla::cli {
namespace {

void collect(const CLI::App& app, const std::string& path, std::vector<CompletionCommand>& all) {
  CompletionCommand here;
  here.path = path;
  for (const CLI::Option* option : app.get_options()) {
    auto add = [&](const std::string& name) {
      here.flags.push_back({name, option->get_description()});
      if (option->get_items_expected_max() > 0) here.valued.push_back(name);
    };
    for (const std::string& name : option->get_lnames()) add("--" + name);
    for (const std::string& name : option->get_snames()) add("-" + name);
  }
  std::vector<const CLI::App*> below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : below)
    here.commands.push_back({command->get_name(), command->get_description()});
  all.push_back(std::move(here));
  for (const CLI::App* command : below)
    collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), all);
}

void declare(CLI::App& app, Context& context) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "print a script that completes this command in a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")->required();
  command->footer(
      "Examples:\n"
      "  source <(hekla completion bash)\n"
      "  hekla completion zsh > \"${fpath[1]}/_hekla\"\n"
      "  hekla completion fish > ~/.config/fish/completions/hekla.fish");
  command->callback([&app, &context, shell] {
    std::vector<CompletionCommand> commands;
    collect(app, "", commands);
    Result<std::string> script = completion_script(*shell, "hekla", commands);
    if (script) {
      std::fputs(script->c_str(), stdout);
      return;
    }
    complain(script.error().message);
    context.exit_code = kUsage;
  });
}

}  // namespace

extern const Verb verb_completion;
const Verb verb_completion{"completion", declare};

}  // namespace hekla::cli
