// What gangpreempt and gangreclaim have in common: room for a whole gang at once. Victims are taken
// in bundles: first those that their jobs can spare (safe), then, if allowed, all of a job (whole),
// the least deserving job first, until a dry run places the gang. Then whoever need not go stays.
#pragma once

#include <string_view>
#include <vector>

#include "scheduler/session/statement.h"
#include "scheduler/session/victims.h"

namespace hekla::scheduler {

class GangEviction {
 public:
  GangEviction(Session& session, Eviction::Kind kind, std::string_view reason, bool whole_jobs)
      : session_(session),
        statement_(session),
        kind_(kind),
        reason_(reason),
        whole_jobs_(whole_jobs) {}

  void run();

 private:
  using Bundle = std::vector<TaskId>;

  void serve(JobId job);
  bool may_go(TaskId victim, JobId job) const;
  std::vector<Bundle> bundles_for(JobId job, TaskId preemptor) const;
  bool place(JobId job);
  void let_stay(std::vector<Bundle>& taken);

  Session& session_;
  Statement statement_;
  Eviction::Kind kind_;
  std::string_view reason_;
  bool whole_jobs_;
};

}  // namespace hekla::scheduler
