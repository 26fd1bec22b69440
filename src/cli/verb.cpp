#include "cli/verb.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/component_flags.h"
#include "cli/docker_link.h"

namespace hekla::cli {

void complain(const std::string& text) { std::fprintf(stderr, "hekla: %s\n", text.c_str()); }

namespace {

// Called by another program's name, the binary is the verb that stands in for it.
Result<std::vector<std::string>> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string_view name = argv[0];
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));
  if (name == "docker") return docker_arguments(std::move(arguments));
  static constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"kfctl", "kfctl"},
      {"Kfctl", "kfctl"},  // as a tutorial types it
      {"kube-apiserver", "apiserver"},
      {"vc-controller-manager", "controllers"},
      {"vc-scheduler", "scheduler"},
      {"vc-webhook-manager", "webhook"},
      {"manager", "training-operator"},
      {"etcd", "etcd"},
      {"vsub", "vsub"},
      {"vjobs", "vjobs"},
      {"vqueues", "vqueues"},
      {"vcancel", "vcancel"},
      {"vsuspend", "vsuspend"},
      {"vresume", "vresume"}};
  for (const auto& [other, verb] : kNames)
    if (name == other) arguments.insert(arguments.begin(), verb);
  static constexpr std::string_view kComponents[] = {"controllers", "scheduler", "webhook",
                                                     "training-operator"};
  if (!arguments.empty() && std::ranges::find(kComponents, arguments[0]) != std::end(kComponents))
    normalize_component_arguments(arguments);
  return arguments;
}

// The titles of the help, and their commands in the order in which somebody meets them.
struct HelpGroup {
  const char* title;
  std::vector<std::string_view> commands;
};

const std::vector<HelpGroup>& help_groups() {
  static const std::vector<HelpGroup> groups = {
      {"Every day",
       {"up", "status", "down", "run", "train", "top", "explain", "logs", "events", "wait", "get",
        "describe", "apply", "delete", "dashboard"}},
      {"Workbench and pipelines", {"notebook", "tensorboard", "volume", "profile", "pipeline"}},
      {"Volcano's vcctl", {"job", "queue", "pod", "jobflow", "jobtemplate"}},
      {"Administration",
       {"doctor", "user", "image", "backup", "restore", "completion", "kfctl", "version", "help"}},
      {"On a cluster that is there",
       {"install", "upgrade", "uninstall", "operator", "training-operator", "web", "scheduler",
        "controllers", "webhook"}},
      {"Testing", {"simulate", "apiserver", "etcd"}}};
  return groups;
}

// Commands that no group names come last.
void arrange(std::vector<Command>& commands) {
  std::vector<Command> arranged;
  auto take = [&](std::string_view name, const char* title) {
    auto found = std::ranges::find(commands, name, &Command::name);
    if (found == commands.end()) return;
    if (!found->hidden) found->group = title;
    arranged.push_back(std::move(*found));
    commands.erase(found);
  };
  for (const HelpGroup& group : help_groups())
    for (std::string_view name : group.commands) take(name, group.title);
  for (Command& rest : commands) {
    if (!rest.hidden) rest.group = "More";
    arranged.push_back(std::move(rest));
  }
  commands = std::move(arranged);
}

}  // namespace

Command all_commands(const Context& context) {
  Command root;
  root.name = "hekla";
  root.summary =
      "Volcano and Kubeflow in one binary: gang-scheduled training jobs on the Kubernetes API.";
  root.version = version_text();
  root.footer =
      "A first hour:\n"
      "  hekla doctor                        can this machine run pods?\n"
      "  hekla up --detach                   the platform, in the background\n"
      "  hekla run -f job.yaml               a job: follow it, exit with its outcome\n"
      "  hekla run --replicas 4 -- python train.py\n"
      "  hekla top                           who uses what\n"
      "  hekla explain job NAME              why it waits, and what helps\n"
      "  hekla dashboard                     all of it in a browser\n"
      "  hekla down                          end it, gracefully\n"
      "With kubectl: export KUBECONFIG=/var/lib/hekla/admin.kubeconfig (hekla status shows yours)\n"
      "Exit codes: 0 done, 1 failed, 2 a mistake on the command line, 3 the platform does not run "
      "or "
      "answer";
  for (const Verb* verb : all_verbs())
    for (Command& command : verb->commands(context)) root.commands.push_back(std::move(command));
  arrange(root.commands);
  return root;
}

int run(int argc, char** argv, const Context& context) {
  const Command root = all_commands(context);
  Result<std::vector<std::string>> arguments = arguments_of(argc, argv);
  if (arguments) return run_command_line(root, std::move(*arguments));
  complain(arguments.error().message);
  return kUsage;
}

}  // namespace hekla::cli
