#include "cli/verb.h"

#include <algorithm>
#include <cstdio>

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

}  // namespace

Command all_commands(const Context& context) {
  Command root;
  root.name = "hekla";
  root.summary =
      "Volcano and Kubeflow in one binary: gang-scheduled training jobs on the Kubernetes API.";
  root.version = version_text();
  root.footer =
      "Examples:\n"
      "  hekla up                          run the platform on this machine\n"
      "  hekla run -f job.yaml             apply a job, follow it, exit with its outcome\n"
      "  kubectl --kubeconfig /var/lib/hekla/admin.kubeconfig get vcjob";
  for (const Verb* verb : all_verbs())
    for (Command& command : verb->commands(context)) root.commands.push_back(std::move(command));
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
