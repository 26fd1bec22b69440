// hekla run -f job.yaml: starts the platform if it is not running, applies the file, follows its
// vcjobs, exits with their outcome, and stops what it started.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "cli/api_session.h"
#include "cli/follow.h"
#include "cli/instance.h"
#include "cli/objects.h"
#include "cli/platform_choice.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

struct Options {
  UpOptions up;
  std::vector<std::string> files;
  PlatformFlags platform;
  int timeout_seconds = 0;
  bool no_logs = false;
};

Result<int> run_files(const Context& context, const Options& options) {
  std::vector<Manifest> manifests = TRY(read_manifests(options.files));
  if (manifests.empty()) return fail(Code::bad_request, "the files contain no objects");

  const PlatformChoice choice = TRY(choose_platform(options.platform, LocalPlatform::may_rest));
  std::unique_ptr<ChildInstance> started;
  if (!choice.data_dir.empty() && !find_instance(choice.data_dir)) {
    UpOptions up = options.up;
    up.data_dir = choice.data_dir;
    started = TRY(ChildInstance::start(context.executable, up, std::chrono::seconds(60)));
    std::printf("%s\n", started->ready_line().c_str());
  }
  MonoTime begin = real_clock().mono();
  std::unique_ptr<ApiSession> session =
      TRY(ApiSession::open(TRY(kube::load_kubeconfig(choice.kubeconfig))));
  std::vector<kube::Key> jobs;
  for (const Manifest& manifest : manifests) {
    Result<Applied> applied = apply_object(*session, manifest.object);
    if (!applied)
      return fail(applied.error().code, manifest.file + ":" + std::to_string(manifest.line) + ": " +
                                            applied.error().message);
    kube::Key key{std::string(json::string_at(applied->object, {"metadata", "namespace"})),
                  std::string(json::string_at(applied->object, {"metadata", "name"}))};
    const kube::Resource& resource = applied->resource;
    std::printf("%s%s/%s %s\n", resource.plural.c_str(),
                resource.group.empty() ? "" : ("." + resource.group).c_str(), key.name.c_str(),
                applied->outcome.c_str());
    if (resource == kube::resources::vcjobs) jobs.push_back(key);
  }
  std::fflush(stdout);
  if (jobs.empty()) return 0;
  FollowOptions follow{std::chrono::seconds(options.timeout_seconds), !options.no_logs};
  std::vector<std::string> phases = TRY(follow_jobs(*session, jobs, follow));
  double seconds = std::chrono::duration<double>(real_clock().mono() - begin).count();
  int code = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::printf("job %s ended as %s after %.1f s\n", jobs[i].name.c_str(), phases[i].c_str(),
                seconds);
    if (phases[i] != "Completed") code = kFailed;
  }
  return code;
}

void declare(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("run", "apply a file, follow its jobs and exit with their outcome");
  command->add_option("-f,--filename", options->files, "YAML or JSON files, - for standard input")
      ->required();
  command->add_option("--kubeconfig", options->platform.kubeconfig,
                      "the cluster and how to log in (default: $KUBECONFIG, else the platform on "
                      "this machine, started if it does not run)");
  command->add_option("--timeout", options->timeout_seconds,
                      "give up after this many seconds (0: never)");
  command->add_flag("--no-logs", options->no_logs, "do not show the pods' logs");
  add_up_flags(*command, options->up);
  command->footer(
      "Exit code: 0 all jobs Completed, 1 one did not, 2 the command line is wrong.\n"
      "Example:\n  hekla run -f job.yaml --image-map '*=host'");
  const CLI::Option* data_dir = command->get_option("--data-dir");
  command->callback([&context, options, data_dir] {
    if (data_dir->count() > 0) options->platform.data_dir = options->up.data_dir;
    Result<int> outcome = run_files(context, *options);
    if (!outcome) complain(outcome.error().message);
    context.exit_code = outcome                                     ? *outcome
                        : outcome.error().code == Code::unavailable ? kUnreachable
                        : outcome.error().code == Code::bad_request ? kUsage
                                                                    : kFailed;
  });
}

}  // namespace

extern const Verb verb_run;
const Verb verb_run{"run", declare};

}  // namespace hekla::cli
