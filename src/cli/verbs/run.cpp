// hekla run -f job.yaml: starts the platform if it is not running, applies the file, follows its
// jobs, exits with their outcome, and stops what it started.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/rng.h"
#include "cli/jobs/foreground.h"
#include "cli/jobs/job_view.h"
#include "cli/live/progress.h"
#include "cli/objects.h"
#include "cli/train/command_job.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

struct RunOptions {
  UpOptions up;
  std::vector<std::string> files;
  CommandPlan command;  // in place of files
  std::string kubeconfig;
  int timeout_seconds = 0;
  bool no_logs = false, replace = false;
};

std::string name_of(const json::Value& object) {
  return std::string(json::string_at(object, {"metadata", "name"}));
}

// "completed 20s ago", "failed 3m2s ago": of a job that has ended.
std::string ended_text(const JobState& state) {
  std::string text = state.word;
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  Result<WallTime> when = model::parse_rfc3339(state.since);
  return when ? text + " " + model::human_duration(real_clock().wall() - *when) + " ago" : text;
}

class Run {
 public:
  Run(Foreground& foreground, const RunOptions& options)
      : foreground_(foreground), options_(options) {}

  Result<int> work() {
    std::vector<Manifest> manifests = TRY(read_manifests(TRY(expand_files(options_.files))));
    const bool commands = !options_.command.command.empty();
    if (manifests.empty() && !commands)
      return fail(Code::bad_request, "the files contain no objects");
    session_ = TRY(foreground_.session());
    if (commands) manifests.push_back({TRY(job_of_command()), "the command line", 1, nullptr, {}});
    MonoTime begin = real_clock().mono();
    for (const Manifest& manifest : manifests)
      if (!foreground_.is_interrupted()) TRY(apply(manifest));
    std::fflush(stdout);
    const std::vector<JobRef>& jobs = foreground_.jobs();
    if (jobs.empty() && !had_ended_)
      complain("the files contain no job, so there is nothing to follow");
    if (jobs.empty()) return had_ended_.value_or(0);
    std::vector<JobState> states = TRY(follow(jobs));
    double seconds = std::chrono::duration<double>(real_clock().mono() - begin).count();
    int code = had_ended_.value_or(0);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!states[i].succeeded) code = kFailed;
      std::printf("%s ended as %s after %.1f s\n", title_of(jobs[i]).c_str(),
                  states[i].word.c_str(), seconds);
    }
    return code;
  }

 private:
  Result<std::vector<JobState>> follow(const std::vector<JobRef>& jobs) {
    FollowOptions follow{.timeout = std::chrono::seconds(options_.timeout_seconds),
                         .logs = !options_.no_logs,
                         .explain = true};
    if (options_.up.quiet || !is_live(stdout)) return foreground_.follow(follow);
    JobView view(stdout, {.live = true}, jobs);
    follow.view = &view;
    Result<std::vector<JobState>> states = foreground_.follow(follow);
    view.finish();
    return states;
  }

  Result<json::Value> job_of_command() {
    CommandPlan plan = options_.command;
    if (plan.name.empty()) plan.name = name_of_command(plan.command, name_suffix(real_rng(), 5));
    if (const std::optional<bool> rootless = TRY(rootless_here(*session_))) {
      plan.files = TRY(local_directory(".", plan.output, *rootless));
      if (plan.image.empty()) plan.image = "host";
    } else if (!plan.output.empty()) {
      return fail(Code::bad_request,
                  "--output is for the platform of this machine: pods of another cluster have none "
                  "of its directories");
    }
    if (plan.image.empty())
      return fail(Code::bad_request,
                  "name what the pods run from: --image (on the platform of this machine they run "
                  "on its own files without)");
    if (const std::string here = program_here(plan.command[0]);
        plan.image == "host" && here != plan.command[0]) {
      std::fprintf(stderr, "%s is not on this machine: %s runs\n", plan.command[0].c_str(),
                   here.c_str());
      plan.command[0] = here;
    }
    return command_job(plan);
  }

  Result<void> apply(const Manifest& manifest) {
    const JobKind* kind = job_kind(manifest.object);
    const bool is_job = kind && !name_of(manifest.object).empty();
    if (is_job && options_.replace) TRY(remove_job(*kind, manifest));
    Result<Applied> applied = apply_object(*session_, manifest.object);
    if (!applied)
      return fail(applied.error().code,
                  manifest.place_of(applied.error().message) + ": " + applied.error().message +
                      (is_job && is_there(*kind, manifest)
                           ? "; to delete the job of this name and run this one, add --replace"
                           : ""));
    std::printf("%s/%s %s\n", qualified(applied->resource).c_str(),
                name_of(applied->object).c_str(), applied->outcome.c_str());
    if (!kind) return {};
    // An older version tells its status in another form: the one that the table knows is asked for.
    const json::Value object = applied->resource == *kind->resource
                                   ? std::move(applied->object)
                                   : TRY(session_->call("GET", path_of(*kind, applied->object)));
    const JobRef job = job_ref(*kind, object);
    const JobState state = state_of(*kind, object);
    if (!state.ended || applied->outcome == "created") {
      foreground_.add(job);
      return {};
    }
    had_ended_ = std::max(had_ended_.value_or(0), state.succeeded ? 0 : kFailed);
    std::printf("%s %s: nothing was run; to run it again, add --replace\n", title_of(job).c_str(),
                ended_text(state).c_str());
    return {};
  }

  std::string path_of(const JobKind& kind, const json::Value& object) const {
    std::string ns(json::string_at(object, {"metadata", "namespace"}));
    return ApiSession::path_of(
        *kind.resource, ns.empty() ? session_->access().default_namespace : ns, name_of(object));
  }

  bool is_there(const JobKind& kind, const Manifest& manifest) {
    return session_->call("GET", path_of(kind, manifest.object)).has_value();
  }

  // Returns when the job and all that belongs to it are gone.
  Result<void> remove_job(const JobKind& kind, const Manifest& manifest) {
    Result<json::Value> removed = session_->call(
        "DELETE", path_of(kind, manifest.object),
        R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Foreground"})");
    if (!removed && removed.error().code == Code::not_found) return {};
    if (!removed) return std::unexpected(removed.error());
    const Progress progress(options_.up.quiet,
                            "waiting until " + name_of(manifest.object) + " and its pods are gone");
    while (is_there(kind, manifest)) {
      if (foreground_.is_interrupted()) return {};
      ::poll(nullptr, 0, 100);
    }
    std::printf("%s \"%s\" deleted\n", qualified(*kind.resource).c_str(),
                name_of(manifest.object).c_str());
    return {};
  }

  Foreground& foreground_;
  const RunOptions& options_;
  ApiSession* session_ = nullptr;
  std::optional<int> had_ended_;  // the outcome of jobs that had ended before anything was applied
};

int run_jobs(const Context& context, const RunOptions& options) {
  const bool commands = !options.command.command.empty();
  Result<void> checked = check_command(options.command.command);
  if (checked && commands == !options.files.empty())
    checked = fail(Code::bad_request,
                   commands ? "give files with -f or a command after --, not both"
                            : "name what to run: -f FILE, or a command after -- (see hekla run "
                              "--help)");
  if (!checked) {
    complain(checked.error().message);
    return kUsage;
  }
  return run_in_foreground(context, options.up, options.kubeconfig,
                           [&](Foreground& foreground) { return Run(foreground, options).work(); });
}

std::vector<Command> run_commands(const Context& context) {
  auto options = std::make_shared<RunOptions>();
  options->up.data_dir.clear();  // the rule for which platform must know whether it was given
  CommandPlan& plan = options->command;
  Command command{
      .name = "run",
      .summary =
          "run the jobs of a file, or a command as a gang of pods, and exit with the outcome",
      .flags =
          {
              Flag("-f,--filename", options->files,
                   "YAML or JSON files, directories of them, - for standard input"),
              Flag("COMMAND", plan.command, "in place of files: what each replica runs, after --"),
              Flag("--replicas", plan.replicas,
                   "of COMMAND: pods that start together or not at all")
                  .with(between(1, 10000)),
              Flag("--name", plan.name, "of its job (default: of the program)"),
              Flag("-n,--namespace", plan.ns, "of its job (default: the kubeconfig's)"),
              Flag("--image", plan.image,
                   "what its pods run from (default: this machine's own files)"),
              Flag("--cpu", plan.cpu, "cores that each replica asks for, such as 500m"),
              Flag("--memory", plan.memory,
                   "memory that each replica asks for and gets, such as 2Gi"),
              Flag("--gpus", plan.gpus, "NVIDIA cards of each replica").with(between(0, 64)),
              Flag("--queue", plan.queue, "of the scheduler"),
              Flag("--output", plan.output, "a directory its pods may write to, at /output"),
              Flag("--kubeconfig", options->kubeconfig,
                   "the cluster and how to log in (default: $KUBECONFIG, else the platform on this "
                   "machine, started if it does not run)"),
              Flag("--timeout", options->timeout_seconds,
                   "give up after this many seconds (0: never)"),
              Flag("--no-logs", options->no_logs, "do not show the pods' logs"),
              Flag("--replace", options->replace,
                   "delete a job of the same name, with its pods, and run it anew"),
          },
      .run = [&context, options] { return run_jobs(context, *options); },
      .footer =
          "Exit code: 0 all jobs have completed, 1 one has not, 2 the command line is wrong, 3 the "
          "platform cannot be reached, 128+N ended by signal N.\n"
          "Ctrl-C ends the jobs and the platform if run has started it, at once when repeated; on "
          "a platform that was there before, the jobs go on.\n"
          "A COMMAND's directory is at /workspace in every pod, read-only, and is the working "
          "directory; VC_TASK_INDEX and VC_WORKER_HOSTS tell each pod who it is.\n"
          "Examples:\n"
          "  hekla run -f job.yaml --image-map '*=host'\n"
          "  hekla run -f job.yaml --replace\n"
          "  hekla run --replicas 4 -- python train.py --epochs 3",
  };
  for (Flag& flag : up_flags(options->up))
    command.flags.push_back(
        std::move(flag).in_group("Flags of hekla up, for a platform it starts"));
  return {std::move(command)};
}

}  // namespace

extern const Verb verb_run;
const Verb verb_run{"run", run_commands};

}  // namespace hekla::cli
