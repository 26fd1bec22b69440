#include "cli/verb.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/nearest.h"
#include "cli/component_flags.h"

namespace hekla::cli {

void complain(const std::string& text) { std::fprintf(stderr, "hekla: %s\n", text.c_str()); }

namespace {

// Called by another program's name, the binary is the verb that stands in for it.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string_view name = argv[0];
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));
  static constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"kube-apiserver", "apiserver"},
      {"vc-controller-manager", "controllers"},
      {"vc-scheduler", "scheduler"},
      {"vc-webhook-manager", "webhook"},
      {"etcd", "etcd"},
      {"vsub", "vsub"},
      {"vjobs", "vjobs"},
      {"vqueues", "vqueues"},
      {"vcancel", "vcancel"},
      {"vsuspend", "vsuspend"},
      {"vresume", "vresume"}};
  for (const auto& [other, verb] : kNames)
    if (name == other) arguments.insert(arguments.begin(), verb);
  static constexpr std::string_view kComponents[] = {"controllers", "scheduler", "webhook"};
  if (!arguments.empty() && std::ranges::find(kComponents, arguments[0]) != std::end(kComponents))
    normalize_component_arguments(arguments);
  return arguments;
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

// A flag that may be repeated takes one value each time where arguments without a flag follow:
// `image build -t NAME DIRECTORY`.
void take_one_value_each(CLI::App& app) {
  for (CLI::App* verb : app.get_subcommands({})) take_one_value_each(*verb);
  bool positionals = false;
  for (const CLI::Option* option : app.get_options()) positionals |= option->get_positional();
  if (!positionals) return;
  for (CLI::Option* option : app.get_options([](const CLI::Option* one) {
         return !one->get_positional() && one->get_expected_max() > 1;
       }))
    option->allow_extra_args(false);
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() ? path_of(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

// What was wrong with the command line, with the name that may have been meant.
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

int run(int argc, char** argv, Context context) {
  CLI::App app{
      "Volcano and Kubeflow in one binary: gang-scheduled training jobs on the Kubernetes API."};
  app.name("hekla");
  app.require_subcommand(1);
  for (const Verb* verb : all_verbs()) verb->declare(app, context);
  take_one_value_each(app);
  app.footer(  // after the verbs, which would inherit it
      "Examples:\n"
      "  hekla up                          run the platform on this machine\n"
      "  hekla run -f job.yaml             apply a job, follow it, exit with its outcome\n"
      "  kubectl --kubeconfig /var/lib/hekla/admin.kubeconfig get vcjob");
  try {
    std::vector<std::string> arguments = arguments_of(argc, argv);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    complain(usage_error(app, error));
    return kUsage;
  }
  return context.exit_code;
}

}  // namespace hekla::cli
