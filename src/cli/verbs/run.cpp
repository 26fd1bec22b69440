// hekla run -f job.yaml: starts the platform if it is not running, applies the file, follows its
// vcjobs, exits with their outcome, and stops what it started.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/clock.h"
#include "cli/api_session.h"
#include "cli/end_signal.h"
#include "cli/follow.h"
#include "cli/instance.h"
#include "cli/objects.h"
#include "cli/platform_choice.h"
#include "cli/up_options.h"
#include "cli/verb.h"
#include "cli/volcano.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

constexpr std::chrono::seconds kAbortTimeout{60};

struct RunOptions {
  UpOptions up;
  std::vector<std::string> files;
  std::string kubeconfig;
  int timeout_seconds = 0;
  bool no_logs = false, replace = false;
};

bool is_vcjob(const json::Value& object) {
  return json::string_at(object, {"apiVersion"}) == kube::resources::vcjobs.api_version() &&
         json::string_at(object, {"kind"}) == kube::resources::vcjobs.kind;
}

std::string name_of(const json::Value& object) {
  return std::string(json::string_at(object, {"metadata", "name"}));
}

// "completed 20s ago", "failed 3m2s ago": of a job that has ended.
std::string ended_text(const json::Value& job) {
  std::string text(json::string_at(job, {"status", "state", "phase"}));
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  Result<WallTime> when =
      model::parse_rfc3339(json::string_at(job, {"status", "state", "lastTransitionTime"}));
  return when ? text + " " + model::human_duration(real_clock().wall() - *when) + " ago" : text;
}

// One run from the first signal's point of view: a platform that was started for it ends with it,
// jobs of a cluster that was there before go on.
class Run {
 public:
  Run(const Context& context, const RunOptions& options, PlatformChoice platform)
      : context_(context),
        options_(options),
        platform_(std::move(platform)),
        starts_(!platform_.data_dir.empty() && !find_instance(platform_.data_dir)) {}

  Result<int> to_the_end() {
    end_.on_signal([this](int signal, int count) { interrupted(signal, count); });
    Result<int> outcome = work();
    if (stop_following_.stop_requested()) {
      if (starts_)
        end_jobs();
      else
        say_how_to_go_on();
      outcome = 128 + end_.first();
    }
    if (started_) started_->stop();
    end_.on_signal(nullptr);
    return outcome;
  }

 private:
  // On the thread of the signals.
  void interrupted(int signal, int count) {
    if (count == 1) {
      complain(std::string(signal_name(signal)) +
               (starts_ ? ": ending the jobs and the platform that was started for them; once more "
                          "ends them at once"
                        : ": no longer following"));
      stop_following_.request_stop();
      return;
    }
    if (!starts_) ::_exit(128 + signal);
    stop_waiting_.request_stop();
    if (ChildInstance* platform = hurried_.load()) platform->hurry();
  }

  Result<int> work() {
    std::vector<Manifest> manifests = TRY(read_manifests(TRY(expand_files(options_.files))));
    if (manifests.empty()) return fail(Code::bad_request, "the files contain no objects");
    if (starts_) TRY(start_platform());
    MonoTime begin = real_clock().mono();
    session_ = TRY(ApiSession::open(TRY(kube::load_kubeconfig(platform_.kubeconfig))));
    for (const Manifest& manifest : manifests)
      if (!stop_following_.stop_requested()) TRY(apply(manifest));
    std::fflush(stdout);
    if (jobs_.empty() && !had_ended_)
      complain("the files contain no vcjob, so there is nothing to follow");
    if (jobs_.empty()) return had_ended_.value_or(0);
    FollowOptions follow{std::chrono::seconds(options_.timeout_seconds), !options_.no_logs};
    std::vector<std::string> phases =
        TRY(follow_jobs(*session_, jobs_, follow, stop_following_.get_token()));
    double seconds = std::chrono::duration<double>(real_clock().mono() - begin).count();
    int code = had_ended_.value_or(0);
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (phases[i] != "Completed") code = kFailed;
      std::printf("job %s ended as %s after %.1f s\n", jobs_[i].key.name.c_str(), phases[i].c_str(),
                  seconds);
    }
    return code;
  }

  Result<void> start_platform() {
    UpOptions up = options_.up;
    up.data_dir = platform_.data_dir;
    started_ =
        TRY(ChildInstance::start(context_.executable, up_arguments(up), std::chrono::seconds(60)));
    hurried_ = started_.get();
    std::printf("%s\n", started_->ready_line().c_str());
    return {};
  }

  Result<void> apply(const Manifest& manifest) {
    const bool is_job = is_vcjob(manifest.object) && !name_of(manifest.object).empty();
    if (is_job && options_.replace) TRY(remove_job(manifest));
    Result<Applied> applied = apply_object(*session_, manifest.object);
    if (!applied)
      return fail(applied.error().code,
                  manifest.file + ":" + std::to_string(manifest.line) + ": " +
                      applied.error().message +
                      (is_job && is_there(manifest)
                           ? "; to delete the job of this name and run this one, add --replace"
                           : ""));
    const FollowedJob job{{std::string(json::string_at(applied->object, {"metadata", "namespace"})),
                           name_of(applied->object)},
                          std::string(json::string_at(applied->object, {"metadata", "uid"}))};
    std::printf("%s/%s %s\n", qualified(applied->resource).c_str(), job.key.name.c_str(),
                applied->outcome.c_str());
    if (applied->resource != kube::resources::vcjobs) return {};
    const std::string_view phase = json::string_at(applied->object, {"status", "state", "phase"});
    if (!is_final(phase)) {
      jobs_.push_back(job);
      return {};
    }
    had_ended_ = std::max(had_ended_.value_or(0), phase == "Completed" ? 0 : kFailed);
    std::printf("job %s %s: nothing was run; to run it again, add --replace\n",
                job.key.name.c_str(), ended_text(applied->object).c_str());
    return {};
  }

  std::string job_path(const Manifest& manifest) const {
    std::string ns(json::string_at(manifest.object, {"metadata", "namespace"}));
    return ApiSession::path_of(kube::resources::vcjobs,
                               ns.empty() ? session_->access().default_namespace : ns,
                               name_of(manifest.object));
  }

  bool is_there(const Manifest& manifest) {
    return session_->call("GET", job_path(manifest)).has_value();
  }

  // Returns when the job and all that belongs to it are gone.
  Result<void> remove_job(const Manifest& manifest) {
    Result<json::Value> removed = session_->call(
        "DELETE", job_path(manifest),
        R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Foreground"})");
    if (!removed && removed.error().code == Code::not_found) return {};
    if (!removed) return std::unexpected(removed.error());
    while (is_there(manifest)) {
      if (stop_following_.stop_requested()) return {};
      ::poll(nullptr, 0, 100);
    }
    std::printf("%s \"%s\" deleted\n", qualified(kube::resources::vcjobs).c_str(),
                name_of(manifest.object).c_str());
    return {};
  }

  // Aborted, they do not begin anew when the platform is started again.
  void end_jobs() {
    for (const FollowedJob& job : jobs_)
      if (Result<void> told = command_job(*session_, job.key.ns, job.key.name, "AbortJob"); !told)
        complain("job " + job.key.name + ": " + told.error().message);
    if (jobs_.empty()) return;
    follow_jobs(*session_, jobs_, {kAbortTimeout, !options_.no_logs}, stop_waiting_.get_token());
  }

  void say_how_to_go_on() const {
    for (const auto& [job, uid] : jobs_)
      std::fprintf(stderr,
                   "job %s goes on; hekla logs -f vcjob/%s -n %s follows it, hekla job suspend "
                   "-N %s -n %s ends it\n",
                   job.name.c_str(), job.name.c_str(), job.ns.c_str(), job.name.c_str(),
                   job.ns.c_str());
  }

  const Context& context_;
  const RunOptions& options_;
  const PlatformChoice platform_;
  const bool starts_;  // the platform does not run yet
  EndSignal end_{EndSignal::Output::until_closed};
  std::stop_source stop_following_, stop_waiting_;
  std::unique_ptr<ChildInstance> started_;
  std::atomic<ChildInstance*> hurried_ = nullptr;
  std::unique_ptr<ApiSession> session_;
  std::vector<FollowedJob> jobs_;
  std::optional<int> had_ended_;  // the outcome of jobs that had ended before anything was applied
};

int run_files(const Context& context, const RunOptions& options) {
  Result<PlatformChoice> platform =
      choose_platform({options.kubeconfig, options.up.data_dir}, LocalPlatform::may_rest);
  if (!platform) {
    complain(platform.error().message);
    return kUsage;
  }
  Result<int> outcome = Run(context, options, std::move(*platform)).to_the_end();
  if (outcome) return *outcome;
  complain(outcome.error().message);
  return outcome.error().code == Code::unavailable ? kUnreachable : kFailed;
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
          "Exit code: 0 all jobs Completed, 1 one did not, 2 the command line is wrong, 3 the "
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
