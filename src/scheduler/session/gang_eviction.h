// What gangpreempt and gangreclaim have in common: room for a whole gang at once. Victims are taken
// in bundles: first those that their jobs can spare (safe), then, if allowed, all of a job (whole),
// the least deserving job first, until a dry run places the gang. Then whoever need not go stays. A
// gang with a hard wish about the network gets room within one hypernode; one whose sub-groups have
// such wishes gets none.
#pragma once

#include <string_view>
#include <vector>

#include "scheduler/session/statement.h"
#include "scheduler/session/victims.h"

namespace hekla::scheduler {

class GangEviction {
 public:
  // `arguments`: allowWholeBundle (true), maxDomains (8).
  GangEviction(Session& session, Eviction::Kind kind, std::string_view reason,
               const Arguments& arguments)
      : session_(session),
        statement_(session),
        kind_(kind),
        reason_(reason),
        whole_jobs_(arguments.boolean("allowWholeBundle", true)),
        most_domains_(arguments.integer("maxDomains", 8)) {}

  void run();

 private:
  using Bundle = std::vector<TaskId>;

  void serve(JobId job);
  bool serve_in(JobId job, HyperNodeId domain);
  // Where to make room for the job: a hypernode its wish allows, one after another; invalid:
  // anywhere.
  std::vector<HyperNodeId> domains_for(JobId job) const;
  bool may_go(TaskId victim, JobId job) const;
  std::vector<Bundle> bundles_for(JobId job, TaskId preemptor, HyperNodeId domain) const;
  bool place(JobId job, HyperNodeId domain);
  void let_stay(std::vector<Bundle>& taken);

  Session& session_;
  Statement statement_;
  Eviction::Kind kind_;
  std::string_view reason_;
  bool whole_jobs_;
  std::int64_t most_domains_;
};

}  // namespace hekla::scheduler
