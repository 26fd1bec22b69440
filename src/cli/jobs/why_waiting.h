// Why jobs wait, told while they do: what `hekla explain` says, looked at after two seconds and
// then ever more seldom.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "cli/jobs/job_kinds.h"
#include "scheduler/explain/explain.h"

namespace hekla::cli {

// All objects that an explanation looks at. `scheduler_conf` is a file; empty: the cluster's own
// configuration.
Result<scheduler::World> read_world(ApiSession& session, const std::string& scheduler_conf = {});

class WhyWaiting {
 public:
  using Tell = std::function<void(const JobRef& job, const std::string& text)>;
  // `tell` is called on a thread of this class, with the findings in lines.
  WhyWaiting(const kube::ClusterAccess& access, std::vector<JobRef> jobs, Tell tell);
  // No call is under way any more.
  ~WhyWaiting();

 private:
  void look();
  Result<void> explain(const JobRef& job);

  const kube::ClusterAccess access_;
  const std::vector<JobRef> jobs_;
  const Tell tell_;
  std::unique_ptr<ApiSession> session_;
  std::vector<std::string> told_;
  Nanos pause_;
  Loop loop_{"why"};
};

}  // namespace hekla::cli
