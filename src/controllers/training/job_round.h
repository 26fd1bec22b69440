// One look at a training job: from the job and the view of its pods to an outcome. Shared by all
// kinds; what differs between them stands in their TrainingKind. Pure, and told by the API alone
// what earlier looks have done.
//
// The steps, as those of the Training Operator 1.9: a finished job is cleaned up, a suspended one
// stopped; limits are judged; the gang is asked for, and nothing is made until it is admitted; pods
// and services are made, restarted and removed; then the kind's rules say how the job stands.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "controllers/training/progress.h"
#include "controllers/training/training_kind.h"
#include "framework/condition.h"
#include "framework/outcome.h"
#include "framework/view.h"

namespace hekla::controllers::training {

// Whether pods that name this scheduler are of those that gangs are made of. kube-batch is what
// tutorials of its time called the same thing.
bool is_gang_scheduler(const Options& options, const std::string& name);

// The pods of one role.
struct RoleState {
  const Replica* replica = nullptr;
  std::int32_t wanted = 0;                 // replicas, fewer while an elastic job has to shrink
  std::vector<framework::PodRef> pods;     // by index, null without one
  std::vector<framework::PodRef> surplus;  // of higher indices
  std::set<std::int32_t> completed;        // succeeded, also those whose pods are gone
  std::int32_t active = 0, succeeded = 0, failed = 0;
};

class JobRound {
 public:
  // The arguments outlive it.
  JobRound(const TrainingJob& job, const framework::View& view);

  framework::Outcome run();

  // For the functions of kinds.
  const TrainingJob& job() const { return job_; }
  const framework::View& view() const { return view_; }
  std::vector<RoleState>& roles() { return roles_; }
  RoleState* role(std::string_view type);
  framework::Outcome& outcome() { return outcome_; }
  framework::Conditions& conditions() { return conditions_; }
  json::Object& status() { return status_; }
  bool finished() const;
  // Conditions with their usual events. `suffix` of the reason is the condition's type.
  void set_running(std::string message);
  void set_succeeded(std::string message);
  void set_restarting(std::string message);
  void set_failed(std::string message, std::string event_type = "Normal");
  // As above, with a reason of its own; completionTime is set.
  void set_failed_for(std::string reason, std::string message, std::string event_type);
  // A child that is made unless it is there.
  void want(const kube::Resource& resource, json::Value body, framework::Care care);
  void remove(const kube::Resource& resource, const model::ObjectMeta& object);
  void put_counts();
  // The pod of a place, complete but for its owner.
  json::Value make_pod(const Place& place) const;
  std::string reason(std::string_view suffix) const;
  std::string filled(std::string_view text, const RoleState* role = nullptr) const;
  // The shared rules.
  void conclude();

 private:
  void finish();
  void clean_pods(framework::CleanPods policy);
  void suspend();
  void resume();
  // True when the job has reached a limit and has failed.
  bool pass_limits();
  framework::RunFacts facts() const;
  std::optional<WallTime> time_of(std::string_view member) const;

  // job_gang.cpp
  bool wants_gang() const;
  bool is_elastic_member(const Replica& replica) const;
  std::int32_t granted(const Replica& replica) const;
  // Asks for the group; true when pods may be made.
  bool admit_gang();
  void leave_gang();

  // job_members.cpp
  void gather();
  void count();
  bool is_restartable(const Replica& replica, const model::Pod& pod) const;
  bool has_lost(const RoleState& role) const;
  bool is_noted(const model::Pod& pod) const;
  void remove_once(const model::Pod& pod);
  void restart_gang();
  void reconcile_role(RoleState& role, bool may_make);
  void look_at(RoleState& role, const model::Pod& pod);
  void remove_member(const model::Pod& pod);
  void make_service(const Place& place);
  json::Object labels_of(const Place& place, bool for_pod) const;
  void tell_trouble(const model::Pod& pod);
  void note_progress();

  // job_conclusion.cpp
  enum class Failing { no, restarts, ends };
  Failing failing(const RoleState& role, bool restarting) const;
  // True when the job has succeeded by it.
  bool conclude_decider(const RoleState& role, Failing any);

  void write_status();

  const TrainingJob& job_;
  const TrainingKind& kind_;
  const framework::View& view_;
  framework::Conditions conditions_;
  json::Object status_;
  Progress progress_;
  const Progress progress_before_;
  std::vector<RoleState> roles_;
  const bool was_restarting_, gang_;
  bool restarting_gang_ = false;
  bool restarted_ = false;  // some pod is being made again
  framework::Outcome outcome_;
};

// A Reconcile function's body for any training kind.
Result<framework::Outcome> reconcile_job(const TrainingKind& kind, const Options& options,
                                         const framework::AnyObject& object,
                                         const framework::View& view);

}  // namespace hekla::controllers::training
