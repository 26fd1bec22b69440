// Jobs that care how close their pods are, or that are made of sub-groups: the whole job is tried
// in every domain of the network that could hold it, the closest domains first; each try is undone,
// and the best is done again. Within a job's domain its sub-groups look for theirs in the same way.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/session/statement.h"

namespace hekla::scheduler {

class DomainPlacement {
 public:
  DomainPlacement(Session& session, Statement& statement)
      : session_(session), statement_(statement) {}

  // Whether the job is placed this way; others go pod by pod.
  static bool handles(const Session& session, JobId job);
  // Why the job cannot be placed at all for now; empty if it can be tried.
  static std::string obstacle(const Session& session, JobId job);

  // Fills the statement with a turn's placements and returns where the job then sits; nothing if no
  // domain can take it.
  std::optional<HyperNodeId> place(JobId job);
  bool has_more(JobId job) const;

 private:
  // The pending tasks of one part, and how far they have been tried.
  struct Part {
    std::int32_t sub_job = -1;
    bool required = false;  // one of those the job needs to be ready
    std::vector<TaskId> order;
    std::uint32_t next = 0;
    bool given_up = false;
  };
  using Sheet = std::vector<Part>;
  struct Attempt {
    HyperNodeId domain;
    std::vector<Statement::Placement> placements;
    double score = 0;
  };

  Sheet& sheet_of(JobId job);
  Part* next_part(JobId job, Sheet& sheet) const;
  double place_parts(JobId job, HyperNodeId domain, Sheet& sheet);
  std::optional<double> place_part(JobId job, HyperNodeId domain, Part& part);

  Session& session_;
  Statement& statement_;
  std::map<JobId, Sheet> sheets_;
};

}  // namespace hekla::scheduler
