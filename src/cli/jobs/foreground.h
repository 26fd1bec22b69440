// Jobs run in the foreground: the platform is started if it does not run, the jobs are followed to
// their end, and Ctrl-C, SIGTERM, SIGHUP and a lost reader of the output end it in order. What was
// started ends with it; on a platform that was there before, the jobs go on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "cli/end_signal.h"
#include "cli/instance.h"
#include "cli/jobs/follow.h"
#include "cli/platform_choice.h"
#include "cli/up_options.h"
#include "cli/verb.h"

namespace hekla::cli {

class Foreground {
 public:
  // Before any other thread is made; `context` and `up` must live as long.
  Foreground(const Context& context, const UpOptions& up, PlatformChoice platform);

  // Does `work`, and then whatever the end asks for; the exit code. The platform is started at the
  // work's first session().
  Result<int> to_the_end(const std::function<Result<int>()>& work);

  Result<ApiSession*> session();
  const PlatformChoice& platform() const { return platform_; }
  // From now on it is ended, or said to go on, when this is interrupted.
  void add(const JobRef& job) { jobs_.push_back(job); }
  const std::vector<JobRef>& jobs() const { return jobs_; }
  bool is_interrupted() const { return stop_following_.stop_requested(); }
  // Until all jobs have ended.
  Result<std::vector<JobState>> follow(const FollowOptions& options);

 private:
  void interrupted(int signal, int count);
  void end_jobs();

  const Context& context_;
  const UpOptions& up_;
  const PlatformChoice platform_;
  const bool starts_;  // the platform does not run yet
  EndSignal end_{EndSignal::Output::until_closed};
  std::stop_source stop_following_, stop_waiting_;
  std::unique_ptr<ChildInstance> started_;
  std::atomic<ChildInstance*> hurried_ = nullptr;
  std::unique_ptr<ApiSession> session_;
  std::vector<JobRef> jobs_;
  bool logs_ = true;  // are shown while they end
};

// Runs such work as a command does: failures are said on stderr, as exit codes.
int run_in_foreground(const Context& context, const UpOptions& up, const std::string& kubeconfig,
                      const std::function<Result<int>(Foreground&)>& work);

}  // namespace hekla::cli
