// One look at a JobSet: from the set, its Jobs and the time to an outcome. Pure, and told by the
// API alone what earlier looks have done: a Job's restart-attempt against status.restarts says
// which run of the set it belongs to.
//
// The steps, as those of JobSet 0.12: count; a finished set is cleaned up; Jobs of earlier runs go;
// failed Jobs ask the failure policy, succeeded ones the success policy; then the service, claims,
// the gang and the Jobs whose turn it is are made, and what is suspended is stopped or let go.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "controllers/jobset/job_set.h"
#include "controllers/jobset/options.h"
#include "framework/condition.h"
#include "framework/outcome.h"
#include "framework/view.h"

namespace hekla::controllers::jobset {

// The Jobs of one replicated job, counted as its status shows them.
struct Counts {
  std::int32_t ready = 0, succeeded = 0, failed = 0, active = 0, suspended = 0;
  std::int32_t started() const { return ready + succeeded + failed; }
};

class SetRound {
 public:
  // The arguments outlive it.
  SetRound(const JobSet& set, const Options& options, const framework::View& view);

  framework::Outcome run();

 private:
  void gather();
  void count(const framework::AnyObject& job);
  bool finished() const;
  void finish();
  bool has_succeeded() const;

  // failure_policy.cpp
  void judge_failures();
  void fail(const std::string& reason, const std::string& message, const std::string& job);
  void restart(const json::Value* rule, const std::string& action, bool counts,
               const std::string& job);

  void want_service();
  void want_claims();
  // Whether what the replicated job depends on has come that far.
  bool may_start(const ReplicatedJob& job) const;
  bool is_started(const ReplicatedJob& job) const;
  bool blocks_until_gone() const;
  void want_jobs();
  void want_job(const ReplicatedJob& job, std::int32_t index);
  void suspend();
  void resume();
  void resume_job(const framework::AnyObject& job, const ReplicatedJob& from);

  // set_gang.cpp
  bool wants_gang() const;
  // False of a job for whose end others wait: it does not run beside them.
  bool is_member(const ReplicatedJob& job) const;
  // Asks for the group, once a member's turn has come; true when members may start.
  bool admit_gang();
  void leave_gang();
  void join_gang(const ReplicatedJob& job, json::Value& body) const;

  void set_condition(const framework::Condition& condition, const char* event_type = "Normal");
  // RestartingJobSet becomes False, if it ever was anything.
  void end_restart(const std::string& reason, const std::string& message);
  void write_status();

  const JobSet& set_;
  const Options& options_;
  const framework::View& view_;
  framework::Conditions conditions_;
  json::Object status_;
  std::map<std::string, Counts> counts_;
  std::map<std::string, framework::AnyRef> all_;  // Jobs by name
  std::vector<framework::AnyRef> active_, succeeded_, failed_, previous_;
  const bool gang_;
  bool admitted_ = true;
  framework::Outcome outcome_;
};

Result<framework::Outcome> reconcile_set(const Options& options, const framework::AnyObject& object,
                                         const framework::View& view);

}  // namespace hekla::controllers::jobset
