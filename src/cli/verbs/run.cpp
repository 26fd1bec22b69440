// hekla run -f job.yaml: starts the platform if it is not running, applies the file, follows its
// jobs, exits with their outcome, and stops what it started.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "cli/jobs/foreground.h"
#include "cli/objects.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

struct RunOptions {
  UpOptions up;
  std::vector<std::string> files;
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
    if (manifests.empty()) return fail(Code::bad_request, "the files contain no objects");
    session_ = TRY(foreground_.session());
    MonoTime begin = real_clock().mono();
    for (const Manifest& manifest : manifests)
      if (!foreground_.is_interrupted()) TRY(apply(manifest));
    std::fflush(stdout);
    const std::vector<JobRef>& jobs = foreground_.jobs();
    if (jobs.empty() && !had_ended_)
      complain("the files contain no job, so there is nothing to follow");
    if (jobs.empty()) return had_ended_.value_or(0);
    std::vector<JobState> states = TRY(
        foreground_.follow({std::chrono::seconds(options_.timeout_seconds), !options_.no_logs}));
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
  Result<void> apply(const Manifest& manifest) {
    const JobKind* kind = job_kind(manifest.object);
    const bool is_job = kind && !name_of(manifest.object).empty();
    if (is_job && options_.replace) TRY(remove_job(*kind, manifest));
    Result<Applied> applied = apply_object(*session_, manifest.object);
    if (!applied)
      return fail(applied.error().code,
                  manifest.file + ":" + std::to_string(manifest.line) + ": " +
                      applied.error().message +
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

int run_files(const Context& context, const RunOptions& options) {
  return run_in_foreground(context, options.up, options.kubeconfig,
                           [&](Foreground& foreground) { return Run(foreground, options).work(); });
}

std::vector<Command> run_commands(const Context& context) {
  auto options = std::make_shared<RunOptions>();
  options->up.data_dir.clear();  // the rule for which platform must know whether it was given
  Command command{
      .name = "run",
      .summary = "apply a file, follow its jobs and exit with their outcome",
      .flags =
          {
              Flag("-f,--filename", options->files,
                   "YAML or JSON files, directories of them, - for standard input")
                  .must_be_given(),
              Flag("--kubeconfig", options->kubeconfig,
                   "the cluster and how to log in (default: $KUBECONFIG, else the platform on this "
                   "machine, started if it does not run)"),
              Flag("--timeout", options->timeout_seconds,
                   "give up after this many seconds (0: never)"),
              Flag("--no-logs", options->no_logs, "do not show the pods' logs"),
              Flag("--replace", options->replace,
                   "delete a job of the same name, with its pods, and run it anew"),
          },
      .run = [&context, options] { return run_files(context, *options); },
      .footer =
          "Exit code: 0 all jobs have completed, 1 one has not, 2 the command line is wrong, 3 the "
          "platform cannot be reached, 128+N ended by signal N.\n"
          "Ctrl-C ends the jobs and the platform if run has started it, at once when repeated; on "
          "a platform that was there before, the jobs go on.\n"
          "Example:\n  hekla run -f job.yaml --image-map '*=host'",
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
