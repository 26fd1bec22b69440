// The only place that knows CLI11: a tree of commands becomes its parser.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

void add_switch(CLI::App& app, const Flag& flag, CLI::Option*& option) {
  option = app.add_flag_function(
      flag.names, [&flag](std::int64_t given) { flag.set({given > 0 ? "true" : "false"}); },
      flag.help);
}

void add_value(CLI::App& app, const Flag& flag, bool beside_positionals, CLI::Option*& option) {
  option = app.add_option(
      flag.names, CLI::callback_t([&flag](const CLI::results_t& texts) { return flag.set(texts); }),
      flag.help);
  option->type_name(flag.type);
  if (flag.takes == Flag::Takes::perhaps_a_value) option->expected(0, 1)->take_last();
  if (flag.takes == Flag::Takes::values) {
    option->expected(CLI::detail::expected_max_vector_size);
    // Where arguments without a flag follow, a flag that may be repeated takes one value each time:
    // `image build -t NAME DIRECTORY`.
    if (beside_positionals && !flag.is_positional()) option->allow_extra_args(false);
  }
  if (!flag.environment.empty()) option->envname(flag.environment);
  if (flag.delimiter != 0) option->delimiter(flag.delimiter);
  for (const ValueRule& rule : flag.rules) option->transform(CLI::Validator(rule.check, rule.text));
}

void add_flag(CLI::App& app, const Flag& flag, bool beside_positionals) {
  CLI::Option* option = nullptr;
  if (flag.takes == Flag::Takes::nothing)
    add_switch(app, flag, option);
  else
    add_value(app, flag, beside_positionals, option);
  if (flag.required) option->required();
  // Flags of a group are named together at the end.
  if (flag.hidden || !flag.group.empty()) option->group("");
  if (std::string text = flag.shown_default(); !text.empty()) option->default_str(text);
}

// "Flags of hekla up, for a platform it starts: --data-dir, ..." in lines of 100 characters.
std::string grouped_flags(const Command& command) {
  std::string text, group, line;
  auto end_line = [&] { text += std::exchange(line, "  ") + "\n"; };
  for (const Flag& flag : command.flags) {
    if (flag.hidden || flag.group.empty()) continue;
    if (group != flag.group) {
      if (!group.empty()) end_line();
      group = flag.group;
      line = group + ":";
    }
    if (line.size() + flag.long_name().size() > 98) end_line();
    line += " " + flag.long_name();
  }
  if (!group.empty()) end_line();
  return text;
}

void declare(CLI::App& app, const Command& command, int& exit_code) {
  app.description(command.summary);
  if (!command.version.empty())
    app.set_version_flag("--version", command.version, "print the version");
  const bool positionals = std::ranges::any_of(command.flags, &Flag::is_positional);
  for (const Flag& flag : command.flags) add_flag(app, flag, positionals);
  for (const std::string& alias : command.aliases) app.alias(alias);
  if (command.hidden) app.group("");
  for (const Command& below : command.commands) {
    CLI::App& made = *app.add_subcommand(below.name);
    if (!below.group.empty()) made.group(below.group);
    declare(made, below, exit_code);
  }
  if (!command.commands.empty()) app.require_subcommand(1);
  // After those below, which would inherit it.
  app.footer(grouped_flags(command) + command.footer);
  if (command.run) app.callback([&command, &exit_code] { exit_code = command.run(); });
}

const CLI::App& deepest(const CLI::App& app) {
  std::vector<const CLI::App*> chosen;
  for (const CLI::App* one : app.get_subcommands({}))
    if (one->parsed()) chosen.push_back(one);
  return chosen.empty() ? app : deepest(*chosen.back());
}

std::string suggestion(const std::string& name, const std::vector<std::string>& candidates) {
  std::string near = nearest_name(name, candidates);
  return near.empty() ? "" : ", did you mean " + near + "?";
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() ? path_of(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

// A sentence on what was wrong with the command line, with the name that may have been meant.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = deepest(app);
  std::string help = " (see " + path_of(at) + " --help)";
  std::vector<std::string> extras = app.remaining(true), verbs, flags;
  for (const CLI::App* one : at.get_subcommands({})) verbs.push_back(one->get_name());
  for (const CLI::Option* option : at.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  bool wants_verb = at.get_require_subcommand_min() > 0;
  if (!extras.empty() && extras[0].starts_with('-')) {
    std::string flag = extras[0].substr(0, extras[0].find('='));
    if (std::ranges::find(flags, flag) != flags.end())
      return flag + " stands after the command: " + path_of(at) + " " + flag + help;
    return "unknown flag " + flag + suggestion(flag, flags) + help;
  }
  if (!extras.empty() && wants_verb)
    return "there is no command \"" + extras[0] + "\"" + suggestion(extras[0], verbs) + help;
  if (!extras.empty()) return "unexpected argument \"" + extras[0] + "\"" + help;
  if (wants_verb && dynamic_cast<const CLI::RequiredError*>(&error)) {
    std::string all;
    for (const std::string& verb : verbs) all += (all.empty() ? "" : ", ") + verb;
    return path_of(at) + " needs a command: " + all + help;
  }
  return error.what() + help;
}

}  // namespace

int run_command_line(const Command& root, std::vector<std::string> arguments) {
  CLI::App app;
  app.name(root.name);
  int exit_code = 0;
  declare(app, root, exit_code);
  if (arguments.empty()) {
    std::fputs(app.help().c_str(), stderr);
    return kUsage;
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    complain(usage_error(app, error));
    return kUsage;
  }
  return exit_code;
}

}  // namespace hekla::cli
