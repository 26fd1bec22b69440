// A command of the command line as data, and what is made from the tree of them: the parse with its
// help and its answers to mistakes, the documentation and the shells' completion.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/flag.h"

namespace hekla::cli {

struct Command {
  std::string name, summary;
  std::vector<Flag> flags;
  std::function<int()> run;  // the exit code; the variables of the flags must live as long
  std::string footer;        // of the help: examples, exit codes
  std::vector<std::string> aliases;
  std::vector<Command> commands;  // below it; if there are some, one must be named
  bool hidden = false;            // not in the help
  std::string version;            // what --version prints; empty: there is no such flag
  std::string group;              // under which title the help lists it
};

// Runs the command that the arguments (without the program's name) name; its exit code, or kUsage
// after a mistake.
int run_command_line(const Command& root, std::vector<std::string> arguments);

// docs/flags.md: every command with its flags.
std::string flags_document(const Command& root);

// A manual page for the program and one for each command.
struct ManPage {
  std::string file, text;  // "hekla-up.1"
};
std::vector<ManPage> man_pages(const Command& root);

// The script for bash, zsh or fish; other shells are an error that names these.
Result<std::string> completion_script(const std::string& shell, const Command& root);

}  // namespace hekla::cli
