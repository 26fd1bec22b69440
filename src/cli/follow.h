// Follows vcjobs until they have ended: prints what changes (job phases, pods, scheduling messages)
// and the pods' log lines, each with the pod's name in front.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cli/api_session.h"
#include "kube/client.h"

namespace hekla::cli {

// A job and no other of its name.
struct FollowedJob {
  kube::Key key;
  std::string uid;
};

// Whether a vcjob in this phase does nothing more by itself.
bool is_final(std::string_view phase);

struct FollowOptions {
  std::chrono::seconds timeout{0};  // 0: as long as it takes
  bool logs = true;
};

// The final phase of each job, in the order given. Blocks; an error only when the server is lost,
// the time is up, a job is deleted meanwhile, or `stop` asks to give up.
Result<std::vector<std::string>> follow_jobs(ApiSession& session,
                                             const std::vector<FollowedJob>& jobs,
                                             const FollowOptions& options,
                                             std::stop_token stop = {});

}  // namespace hekla::cli
