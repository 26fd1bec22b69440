#include "cli/jobs/foreground.h"

#include <unistd.h>

#include <cstdio>

#include "cli/live/progress.h"
#include "cli/live/terminal.h"
#include "cli/status/running.h"

namespace hekla::cli {
namespace {

constexpr std::chrono::seconds kStartTimeout{60}, kAbortTimeout{60};

}  // namespace

Foreground::Foreground(const Context& context, const UpOptions& up, PlatformChoice platform)
    : context_(context),
      up_(up),
      platform_(std::move(platform)),
      starts_(!platform_.data_dir.empty() && !find_instance(platform_.data_dir)) {}

Result<int> Foreground::to_the_end(const std::function<Result<int>()>& work) {
  end_.on_signal([this](int signal, int count) { interrupted(signal, count); });
  Result<int> outcome = work();
  if (is_interrupted()) {
    if (starts_)
      end_jobs();
    else
      for (const JobRef& job : jobs_) std::fprintf(stderr, "%s\n", how_to_go_on(job).c_str());
    outcome = 128 + end_.first();
  }
  if (started_) {
    const Progress progress(up_.quiet, "stopping the platform that was started for this");
    started_->stop();
  }
  end_.on_signal(nullptr);
  return outcome;
}

// On the thread of the signals.
void Foreground::interrupted(int signal, int count) {
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

Result<ApiSession*> Foreground::session() {
  if (session_) return session_.get();
  if (starts_) {
    UpOptions up = up_;
    up.data_dir = platform_.data_dir;
    // The platform's own lines would go through the middle of a view.
    const bool live = !up.quiet && is_live(stdout);
    {
      const Progress progress(up.quiet, "hekla starts on " + up.data_dir);
      started_ = TRY(ChildInstance::start(context_.executable, up_arguments(up), kStartTimeout,
                                          live ? up.data_dir + "/hekla.log" : ""));
    }
    hurried_ = started_.get();
    std::printf("%s\n", started_->ready_line().c_str());
    if (std::optional<Instance> here = find_instance(up.data_dir))
      if (std::optional<Running> facts = read_running(up.data_dir, here->pid); facts)
        if (!facts->web.empty())
          std::printf("the dashboard is at %s while this runs\n", facts->web.c_str());
  }
  session_ = TRY(ApiSession::open(TRY(kube::load_kubeconfig(platform_.kubeconfig))));
  return session_.get();
}

Result<std::vector<JobState>> Foreground::follow(const FollowOptions& options) {
  logs_ = options.logs && !options.view;
  return follow_jobs(*TRY(session()), jobs_, options, stop_following_.get_token());
}

// Stopped, they do not begin anew when the platform is started again.
void Foreground::end_jobs() {
  if (jobs_.empty() || !session_) return;
  for (const JobRef& job : jobs_)
    if (Result<void> told = stop_job(*session_, job); !told)
      complain(title_of(job) + ": " + told.error().message);
  // The work's view is gone with it.
  follow_jobs(*session_, jobs_, {.timeout = kAbortTimeout, .logs = logs_},
              stop_waiting_.get_token());
}

int run_in_foreground(const Context& context, const UpOptions& up, const std::string& kubeconfig,
                      const std::function<Result<int>(Foreground&)>& work) {
  Result<PlatformChoice> platform =
      choose_platform({kubeconfig, up.data_dir}, LocalPlatform::may_rest);
  if (!platform) {
    complain(platform.error().message);
    return kUsage;
  }
  Foreground foreground(context, up, std::move(*platform));
  Result<int> outcome = foreground.to_the_end([&] { return work(foreground); });
  if (outcome) return *outcome;
  complain(outcome.error().message);
  return outcome.error().code == Code::unavailable ? kUnreachable : kFailed;
}

}  // namespace hekla::cli
