// hekla completion SHELL and hekla flags: texts made from the commands and flags there are.
#include <cstdio>
#include <memory>

#include "cli/verb.h"

namespace hekla::cli {
namespace {

int print_completion(const Context& context, const std::string& shell) {
  Result<std::string> script = completion_script(shell, all_commands(context));
  if (!script) {
    complain(script.error().message);
    return kUsage;
  }
  std::fputs(script->c_str(), stdout);
  return 0;
}

std::vector<Command> completion_commands(const Context& context) {
  auto shell = std::make_shared<std::string>();
  return {
      {
          .name = "completion",
          .summary = "print a script that completes this command in a shell",
          .flags = {Flag("shell", *shell, "bash, zsh or fish").must_be_given()},
          .run = [&context, shell] { return print_completion(context, *shell); },
          .footer = "Examples:\n"
                    "  source <(hekla completion bash)\n"
                    "  hekla completion zsh > \"${fpath[1]}/_hekla\"\n"
                    "  hekla completion fish > ~/.config/fish/completions/hekla.fish",
      },
      {
          .name = "flags",
          .summary = "print every command with its flags as Markdown",
          .run =
              [&context] {
                std::fputs(flags_document(all_commands(context)).c_str(), stdout);
                return 0;
              },
          .hidden = true,
      },
  };
}

}  // namespace

extern const Verb verb_completion;
const Verb verb_completion{"completion", completion_commands};

}  // namespace hekla::cli
