// How a training job stands, by its kind's rules: running, restarting, succeeded or failed.
#include <algorithm>

#include "controllers/training/job_round.h"
#include "controllers/training/read_job.h"
#include "model/time.h"

namespace hekla::controllers::training {

void JobRound::conclude() {
  if (finished()) return;
  // Set by the pods of this round or of one before it; a Running condition takes it away.
  const bool restarting = conditions_.is_true("Restarting");
  Failing any = restarted_ || restarting_gang_ ? Failing::restarts : Failing::no;
  for (const RoleState& role : roles_) any = std::max(any, failing(role, restarting));
  for (const RoleState& role : roles_) {
    if (role.replica->bystander) continue;
    if (conclude_decider(role, any)) return;
    const Failing how = failing(role, restarting);
    if (how == Failing::no) continue;
    if (kind_.always_ran) set_running(filled(kind_.words.running));
    if (how == Failing::restarts)
      set_restarting(filled(kind_.words.restarting, &role));
    else
      set_failed(filled(kind_.words.failed, &role));
  }
}

JobRound::Failing JobRound::failing(const RoleState& role, bool restarting) const {
  if (role.failed == 0 || role.replica->bystander) return Failing::no;
  if (kind_.missing_counts && role.wanted <= role.succeeded + role.active) return Failing::no;
  if (kind_.tolerates && kind_.tolerates(job_, *role.replica)) return Failing::no;
  const bool again = kind_.on_failed == OnFailed::restart
                         ? role.replica->restart != RestartPolicy::never
                         : restarting;
  return again ? Failing::restarts : Failing::ends;
}

bool JobRound::conclude_decider(const RoleState& role, Failing any) {
  const Replica* decider = decider_of(job_);
  if (!kind_.deciders.empty() && role.replica != decider) return false;
  const bool first = kind_.deciders.empty() || decider->type == kind_.deciders.front();
  const Words& words =
      !first && kind_.words_without_master ? *kind_.words_without_master : kind_.words;
  const bool all = role.wanted > 0 && role.succeeded >= role.wanted;
  if (all || (kind_.succeeded_early && kind_.succeeded_early(job_, role))) {
    if (kind_.always_ran) set_running(filled(words.running));
    set_succeeded(filled(words.succeeded));
    return true;
  }
  // Replicas that live on beside a failed one do not hide that it is being made again.
  if (role.active > 0 && any != Failing::restarts) set_running(filled(words.running));
  return false;
}

void JobRound::set_running(std::string message) {
  conditions_.set({"Running", "True", reason("Running"), std::move(message)});
}

void JobRound::set_succeeded(std::string message) {
  if (!status_.contains("completionTime"))
    status_["completionTime"] = model::format_rfc3339(view_.now());
  outcome_.tell_with_status("Normal", reason("Succeeded"), message);
  conditions_.set({"Succeeded", "True", reason("Succeeded"), std::move(message)});
}

void JobRound::set_restarting(std::string message) {
  if (conditions_.set({"Restarting", "True", reason("Restarting"), message}))
    outcome_.tell_with_status("Warning", reason("Restarting"), std::move(message));
}

void JobRound::set_failed(std::string message, std::string event_type) {
  set_failed_for(reason("Failed"), std::move(message), std::move(event_type));
}

void JobRound::set_failed_for(std::string why, std::string message, std::string event_type) {
  if (!conditions_.set({"Failed", "True", why, message})) return;
  if (!status_.contains("completionTime"))
    status_["completionTime"] = model::format_rfc3339(view_.now());
  outcome_.tell_with_status(std::move(event_type), std::move(why), std::move(message));
}

}  // namespace hekla::controllers::training
