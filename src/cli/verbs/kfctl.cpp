// hekla kfctl, also as a link of that name: a tutorial's way to install Kubeflow, where there is
// nothing to install.
#include <memory>

#include "cli/cluster.h"
#include "cli/kfctl/deployment.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

struct KfctlOptions {
  ClusterFlags cluster;
  std::string file;
  bool verbose = false;
};

Result<void> apply(ApiSession& session, const KfctlOptions& options) {
  const std::vector<std::string> applications = TRY(applications_of(options.file));
  TRY(write_kf_app(applications));
  return deploy(session, applications, options.verbose);
}

Result<void> build(const KfctlOptions& options) {
  return write_kf_app(TRY(applications_of(options.file)));
}

Command kfctl_command(const std::shared_ptr<KfctlOptions>& options, const char* name,
                      const char* summary) {
  Command command{.name = name, .summary = summary};
  command.flags = cluster_flags(options->cluster);
  command.flags.push_back(
      Flag("-f,--file", options->file, "the KfDef: a file or a URL").must_be_given());
  command.flags.push_back(Flag("-V,--verbose", options->verbose, "say what stands for each part"));
  return command;
}

std::vector<Command> kfctl_commands(const Context&) {
  auto options = std::make_shared<KfctlOptions>();
  Command apply_it = kfctl_command(options, "apply", "go through the applications of a KfDef");
  apply_it.run = on_cluster(options->cluster,
                            [options](ApiSession& session) { return apply(session, *options); });
  Command build_it = kfctl_command(options, "build", "write app.yaml and nothing else");
  build_it.run = [options] {
    Result<void> done = build(*options);
    if (done) return 0;
    complain(done.error().message);
    return kFailed;
  };
  Command delete_it = kfctl_command(options, "delete", "take away what apply made");
  delete_it.run =
      on_cluster(options->cluster, [](ApiSession& session) { return undeploy(session); });
  Command kfctl{.name = "kfctl", .summary = "what kfctl of Kubeflow 1.0 does, for tutorials"};
  kfctl.commands = {std::move(apply_it), std::move(build_it), std::move(delete_it)};
  kfctl.footer =
      "Nothing is downloaded but the KfDef: the parts are built in. A link to hekla that is named\n"
      "kfctl is this command: ln -s $(command -v hekla) /usr/local/bin/kfctl";
  return {std::move(kfctl)};
}

}  // namespace

extern const Verb verb_kfctl;
const Verb verb_kfctl{"kfctl", kfctl_commands};

}  // namespace hekla::cli
