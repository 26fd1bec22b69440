#include "cli/verb.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace hekla::cli {

void complain(const std::string& text) { std::fprintf(stderr, "hekla: %s\n", text.c_str()); }

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
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    complain(std::string(error.what()) + " (see hekla --help)");
    return kUsage;
  }
  return context.exit_code;
}

}  // namespace hekla::cli
