// Follows jobs of all kinds until they have ended: tells a view what changes (states of jobs, pods,
// warnings) and the pods' log lines.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/api_session.h"
#include "cli/jobs/job_kinds.h"

namespace hekla::cli {

// A pod as it is now.
struct PodNews {
  const model::ObjectMeta& metadata;
  const json::Value& status;
  bool gone = false;       // these were its last words
  std::string_view phase;  // Pending, Running, ...
  bool new_phase = false;
};

struct Warning {
  std::string kind, name;  // of the object, the kind in small letters
  bool of_job = false;     // of a job itself, not of its pods or its group
  std::string reason, message;
};

// Shows what happens. Calls come from several threads, but never two at a time.
class FollowView {
 public:
  virtual ~FollowView() = default;
  virtual void job_changed(const JobRef& job, const JobState& state) = 0;
  virtual void pod_changed(const PodNews& pod) = 0;
  virtual void warned(const Warning& warning) = 0;
  virtual void log_line(const std::string& pod, const std::string& line) = 0;
  // Why a job waits, when it has waited for a while; again when that has changed.
  virtual void explained(const JobRef& job, const std::string& text) = 0;
  // Time passes.
  virtual void tick() {}
};

struct FollowOptions {
  std::chrono::seconds timeout{0};  // 0: as long as it takes
  bool logs = true;
  bool explain = false;        // why they wait
  FollowView* view = nullptr;  // null: lines on standard output, log lines with the pod's name
};

// How each job has ended, in the order given. Blocks; an error only when the server is lost,
// the time is up, a job is deleted meanwhile, or `stop` asks to give up.
Result<std::vector<JobState>> follow_jobs(ApiSession& session, const std::vector<JobRef>& jobs,
                                          const FollowOptions& options, std::stop_token stop = {});

}  // namespace hekla::cli
