// Scripts that complete the command line in bash, zsh and fish.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hekla::cli {

struct CompletionWord {
  std::string text, about;
};
// One command: "", "job", "job run".
struct CompletionCommand {
  std::string path;
  std::vector<CompletionWord> commands;  // below it
  std::vector<CompletionWord> flags;     // "--namespace", "-n"
  std::vector<std::string> valued;       // those that take a value: file names are offered for it
};

// The script for a shell; unknown shells are an error that names those there are.
Result<std::string> completion_script(const std::string& shell, const std::string& program,
                                      const std::vector<CompletionCommand>& commands);

}  // namespace hekla::cli
