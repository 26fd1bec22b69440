#include "cli/verb.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

namespace hekla::cli {

void complain(const std::string& text) { std::fprintf(stderr, "hekla: %s\n", text.c_str()); }

namespace {

// Called by another program's name, the binary is the verb that stands in for it.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string_view name = argv[0];
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));
  static constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"kube-apiserver", "apiserver"}, {"vc-controller-manager", "controllers"},
      {"vc-scheduler", "scheduler"},   {"vc-webhook-manager", "webhook"},
      {"etcd", "etcd"},                {"vsub", "vsub"},
      {"vjobs", "vjobs"},              {"vqueues", "vqueues"},
      {"vcancel", "vcancel"},          {"vsuspend", "vsuspend"},
      {"vresume", "vresume"}};
  for (const auto& [other, verb] : kNames)
    if (name == other) arguments.insert(arguments.begin(), verb);
  return arguments;
}

}  // namespace

int run(int argc, char** argv, Context context) {
  CLI::App app{
      "Volcano and Kubeflow in one binary: gang-scheduled training jobs on the Kubernetes API."};
  app.name("hekla");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  hekla up                          run the platform on this machine\n"
      "  hekla run -f job.yaml             apply a job, follow it, exit with its outcome\n"
      "  kubectl --kubeconfig /var/lib/hekla/admin.kubeconfig get vcjob");
  for (const Verb* verb : all_verbs()) verb->declare(app, context);
  try {
    std::vector<std::string> arguments = arguments_of(argc, argv);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    complain(std::string(error.what()) + " (see hekla --help)");
    return kUsage;
  }
  return context.exit_code;
}

}  // namespace hekla::cli
