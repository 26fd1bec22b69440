// hekla train script.py --framework torch --workers 4: makes the training job of a script, shows
// how it goes, and ends with its outcome.
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/rng.h"
#include "cli/cluster.h"
#include "cli/jobs/foreground.h"
#include "cli/jobs/job_view.h"
#include "cli/train/train_files.h"

namespace hekla::cli {
namespace {

struct TrainOptions {
  UpOptions up;
  TrainSources sources;
  TrainPlan plan;
  std::string framework, kubeconfig;
  int timeout_seconds = 0;
  bool plain = false;
};

class Train {
 public:
  Train(Foreground& foreground, const TrainOptions& options)
      : foreground_(foreground), options_(options), plan_(options.plan) {}

  Result<int> work() {
    plan_.framework = find_framework(options_.framework);
    if (plan_.name.empty())
      plan_.name = job_name_of(options_.sources.script, name_suffix(real_rng(), 5));
    // Files are looked at before anything is started.
    if (!foreground_.platform().data_dir.empty())
      TRY(local_files(options_.sources, true));
    else
      TRY(cluster_files(options_.sources, "default", plan_.name));
    session_ = TRY(foreground_.session());
    if (plan_.ns.empty()) plan_.ns = session_->access().default_namespace;
    TRY(bring_files());
    TRY(create());
    return follow();
  }

 private:
  Result<void> bring_files() {
    const std::optional<bool> rootless = TRY(rootless_here(*session_));
    if (rootless) {
      plan_.files = TRY(local_files(options_.sources, *rootless));
      const bool own = !plan_.files.venv.empty();  // it was made with this machine's python
      if (plan_.image.empty())
        plan_.image = own ? "host" : "hekla.io/" + std::string(plan_.framework->recipe);
      return {};
    }
    ClusterFiles made = TRY(cluster_files(options_.sources, plan_.ns, plan_.name));
    plan_.files = std::move(made.files);
    if (plan_.image.empty()) plan_.image = plan_.framework->image;
    if (plan_.image.empty())
      return fail(Code::bad_request,
                  "name an image with " + std::string(plan_.framework->name) + " in it: --image");
    if (!made.directory) return {};
    source_ = json::string_at(*made.directory, {"metadata", "name"});
    TRY(session_->call("POST", ApiSession::path_of(kube::resources::config_maps, plan_.ns),
                       json::serialize(*made.directory)));
    return {};
  }

  Result<void> create() {
    const kube::Resource& resource = *plan_.framework->kind;
    Result<json::Value> made =
        session_->call("POST", ApiSession::path_of(resource, plan_.ns) + "?fieldValidation=Strict",
                       json::serialize(train_job(plan_)));
    if (!made) {
      if (!source_.empty())
        session_->call("DELETE",
                       ApiSession::path_of(kube::resources::config_maps, plan_.ns, source_));
      return std::unexpected(made.error());
    }
    const JobKind* kind = job_kind(resource);
    job_ = job_ref(*kind, *made);
    foreground_.add(job_);
    std::printf("%s in namespace %s: %d x %s in image %s\n", title_of(job_).c_str(),
                plan_.ns.c_str(), plan_.workers, options_.framework.c_str(), plan_.image.c_str());
    std::fflush(stdout);
    if (source_.empty()) return {};
    // The script's copy goes with its job.
    json::Object owner{{"apiVersion", resource.api_version()},
                       {"kind", resource.kind},
                       {"name", plan_.name},
                       {"uid", job_.uid}};
    json::Object patch{
        {"metadata", json::Object{{"ownerReferences", json::Array{std::move(owner)}}}}};
    TRY(session_->call(
        "PATCH", ApiSession::path_of(kube::resources::config_maps, plan_.ns, source_),
        json::serialize(json::Value(std::move(patch))), "application/merge-patch+json"));
    return {};
  }

  Result<int> follow() {
    const MonoTime begin = real_clock().mono();
    const bool live = !options_.plain && !options_.up.quiet && is_live(stdout);
    JobView view(stdout, {.live = live, .logs_scroll = false}, {job_});
    FollowOptions follow{
        .timeout = std::chrono::seconds(options_.timeout_seconds), .explain = true, .view = &view};
    Result<std::vector<JobState>> states = foreground_.follow(follow);
    view.finish();
    if (!states) return std::unexpected(states.error());
    const JobState& state = states->front();
    const double seconds = std::chrono::duration<double>(real_clock().mono() - begin).count();
    if (!state.succeeded && live) std::fputs(view.last_words().c_str(), stdout);
    std::printf("%s ended as %s after %.1f s\n", title_of(job_).c_str(), state.word.c_str(),
                seconds);
    std::fflush(stdout);
    if (!state.succeeded && !view.missing().empty()) complain(about_missing(view.missing()));
    return state.succeeded ? 0 : kFailed;
  }

  std::string about_missing(const std::string& module) const {
    if (!plan_.files.venv.empty())
      return "module " + module + " is not in the environment " + plan_.files.venv + ": " +
             plan_.files.venv + "/bin/pip install " + module +
             " brings it (or the package it comes with)";
    for (const Framework& one : frameworks())
      if (const std::string image = "hekla.io/" + std::string(one.recipe);
          one.module == module && plan_.image != image)
        return "module " + module + " is not in image " + plan_.image +
               ": it is in the environment " + image + " (--image " + image +
               "), or in one of your own (--python VENV)";
    return "module " + module + " is not in image " + plan_.image +
           ": run the script in an environment that has it, such as python3 -m venv ENV && "
           "ENV/bin/pip install " +
           module + ", with --python ENV, or in an image that has it, with --image";
  }

  Foreground& foreground_;
  const TrainOptions& options_;
  TrainPlan plan_;
  ApiSession* session_ = nullptr;
  std::string source_;  // the ConfigMap with the script's directory
  JobRef job_{};
};

std::vector<std::string> framework_names() {
  std::vector<std::string> names;
  for (const Framework& one : frameworks()) names.emplace_back(one.name);
  return names;
}

std::vector<Command> train_commands(const Context& context) {
  auto options = std::make_shared<TrainOptions>();
  options->up.data_dir.clear();  // the rule for which platform must know whether it was given
  TrainPlan& plan = options->plan;
  TrainSources& sources = options->sources;
  Command command{
      .name = "train",
      .summary =
          "train with a script and no YAML: make its job, show how it goes, exit with its "
          "outcome",
      .flags =
          {
              Flag("SCRIPT", sources.script, "the Python program").must_be_given(),
              Flag("ARGUMENT", plan.arguments, "of the script; those with dashes after --"),
              Flag("--framework", options->framework, "what it trains with")
                  .with(one_of(framework_names()))
                  .must_be_given(),
              Flag("--workers", plan.workers, "processes that train together")
                  .with(between(1, 1000)),
              Flag("--gpus", plan.gpus, "NVIDIA cards of each worker").with(between(0, 64)),
              Flag("--cpu", plan.cpu, "cores that each worker asks for, such as 500m"),
              Flag("--memory", plan.memory,
                   "memory that each worker asks for and gets, such as 2Gi"),
              Flag("--queue", plan.queue, "of the scheduler"),
              Flag("--name", plan.name, "of the job (default: of the script)"),
              Flag("-n,--namespace", plan.ns, "of the job (default: the kubeconfig's)"),
              Flag("--image", plan.image,
                   "what the pods run from (default: the framework's environment, see hekla image "
                   "recipes, or this machine with --python; on a cluster the framework's own "
                   "image)"),
              Flag("--python", sources.venv,
                   "a Python environment (venv) to run it with; on a cluster: its path in the "
                   "image or claim"),
              Flag("--output", sources.output,
                   "a directory the script may write to, at /output; with --pvc: of the claim"),
              Flag("--pvc", sources.claim,
                   "on a cluster: the claim that holds the script, for directories of more than 1 "
                   "MB; SCRIPT is its path there"),
              Flag("--plain", options->plain, "lines instead of a view that is drawn anew"),
              Flag("--kubeconfig", options->kubeconfig,
                   "the cluster and how to log in (default: $KUBECONFIG, else the platform on this "
                   "machine, started if it does not run)"),
              Flag("--timeout", options->timeout_seconds,
                   "give up after this many seconds (0: never)"),
          },
      .run =
          [&context, options] {
            return run_in_foreground(
                context, options->up, options->kubeconfig,
                [&](Foreground& foreground) { return Train(foreground, *options).work(); });
          },
      .footer =
          "The script's directory is at /workspace in every pod, read-only, and is the working "
          "directory.\n"
          "Exit code: 0 the job has succeeded, 1 it has not, 2 the command line is wrong, 3 the "
          "platform cannot be reached, 128+N ended by signal N.\n"
          "Ctrl-C ends the job and the platform if train has started it; on a platform that was "
          "there before, the job goes on.\n"
          "Example:\n  hekla train mnist.py --framework torch --workers 2 --python ~/env -- "
          "--epochs 3",
  };
  for (Flag& flag : up_flags(options->up))
    command.flags.push_back(
        std::move(flag).in_group("Flags of hekla up, for a platform it starts"));
  return {std::move(command)};
}

}  // namespace

extern const Verb verb_train;
const Verb verb_train{"train", train_commands};

}  // namespace hekla::cli
