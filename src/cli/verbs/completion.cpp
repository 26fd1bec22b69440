// hekla completion SHELL, and texts for the build: docs/flags.md and the manual pages.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/disk.h"
#include "cli/documents/object_names.h"
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

int write_pages(const Context& context, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  for (const ManPage& page : man_pages(all_commands(context)))
    if (Result<void> written = write_file_atomically(directory + "/" + page.file, page.text, 0644);
        !written) {
      complain(written.error().message);
      return kFailed;
    }
  return 0;
}

std::vector<Command> completion_commands(const Context& context) {
  auto shell = std::make_shared<std::string>(), directory = std::make_shared<std::string>();
  auto words = std::make_shared<std::vector<std::string>>();
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
      {
          .name = "names",
          .summary = "print what may stand at the cursor, for the completion scripts",
          .flags = {Flag("word", *words, "the words of the line, with the one at the cursor")},
          .run =
              [&context, words] {
                const Command root = all_commands(context);
                for (const std::string& name : object_names(place_at_cursor(root, *words)))
                  std::printf("%s\n", name.c_str());
                return 0;
              },
          .hidden = true,
      },
      {
          .name = "man",
          .summary = "write the manual pages into a directory",
          .flags = {Flag("directory", *directory, "it is made if it is not there").must_be_given()},
          .run = [&context, directory] { return write_pages(context, *directory); },
          .hidden = true,
      },
  };
}

}  // namespace

extern const Verb verb_completion;
const Verb verb_completion{"completion", completion_commands};

}  // namespace hekla::cli
