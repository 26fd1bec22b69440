// Failure policies: a set whose Jobs have failed follows the first rule that fits one of
// them, or restarts; without a policy it ends.
#include <algorithm>

#include "cel/pattern.h"
#include "controllers/jobset/set_round.h"

namespace hekla::controllers::jobset {
namespace {

using framework::AnyObject, framework::AnyRef;

const json::Value& failure_of(const AnyObject& job) {
  static const json::Value none;
  const json::Value* one = framework::find_condition(framework::conditions_of(job), "Failed");
  return one ? *one : none;
}

// An absent or empty list names everything.
bool names(const json::Value& rule, std::string_view member, std::string_view text) {
  const json::Array* list = json::array_at(rule, {member});
  return !list || list->empty() || std::any_of(list->begin(), list->end(), [&](const auto& one) {
    return one.is_string() && json::sv(one.get_string()) == text;
  });
}

// Expressions that cannot be read match nothing.
bool matches(const json::Value& rule, std::string_view message) {
  const json::Array* list = json::array_at(rule, {"onJobFailureMessagePatterns"});
  return !list || list->empty() || std::any_of(list->begin(), list->end(), [&](const auto& one) {
    if (!one.is_string()) return false;
    auto pattern = cel::Pattern::compile(json::sv(one.get_string()));
    return pattern && (*pattern)->matches(message);
  });
}

bool fits(const json::Value& rule, const AnyObject& job) {
  const json::Value& failure = failure_of(job);
  auto parent = job.metadata.labels.find(keys::job_name);
  return names(rule, "onJobFailureReasons", json::string_at(failure, {"reason"})) &&
         matches(rule, json::string_at(failure, {"message"})) &&
         parent != job.metadata.labels.end() && names(rule, "targetReplicatedJobs", parent->second);
}

// The one that failed first, of those the rule fits; null: any. Times of one layout and zone are
// ordered as texts.
const AnyObject* first_failed(const std::vector<AnyRef>& failed, const json::Value* rule) {
  const AnyObject* first = nullptr;
  auto when = [](const AnyObject& job) {
    return json::string_at(failure_of(job), {"lastTransitionTime"});
  };
  for (const AnyRef& job : failed)
    if ((!rule || fits(*rule, *job)) && (!first || when(*job) < when(*first))) first = job.get();
  return first;
}

}  // namespace

void SetRound::judge_failures() {
  const json::Value* policy = json::find(set_.spec(), "failurePolicy");
  const std::string any = first_failed(failed_, nullptr)->metadata.name;
  if (!policy || policy->is_null())
    return fail("FailedJobs", "jobset failed due to one or more job failures", any);
  const json::Value* rule = nullptr;
  std::string job = any, action = "RestartJobSet";
  if (const json::Array* rules = json::array_at(*policy, {"rules"}))
    for (const json::Value& one : *rules)
      if (const AnyObject* found = first_failed(failed_, &one)) {
        rule = &one;
        job = found->metadata.name;
        action = json::text_at(one, {"action"});
        break;
      }
  if (action == "FailJobSet")
    return fail("FailJobSetFailurePolicyAction", "applying FailJobSet failure policy action", job);
  if (action == "RestartJobSetAndIgnoreMaxRestarts") return restart(rule, action, false, job);
  if (action != "RestartJobSet") {  // which admission refuses
    outcome_.failure = Error{Code::invalid, action + " is no failure policy action"};
    return;
  }
  if (json::int_at(status_, {"restartsCountTowardsMax"}) >= json::int_at(*policy, {"maxRestarts"}))
    return fail("ReachedMaxRestarts", "jobset failed due to reaching max number of restarts", job);
  restart(rule, action, true, job);
}

void SetRound::fail(const std::string& reason, const std::string& message, const std::string& job) {
  set_condition({"Failed", "True", reason, message + " (first failed job: " + job + ")"},
                "Warning");
  end_restart("JobSetFailed", "jobset failed");
  status_["terminalState"] = "Failed";
}

// The Jobs of the run that is over go in the next look, which sees the new number.
void SetRound::restart(const json::Value* rule, const std::string& action, bool counts,
                       const std::string& job) {
  status_["restarts"] = set_.restarts + 1;
  if (counts)
    status_["restartsCountTowardsMax"] = json::int_at(status_, {"restartsCountTowardsMax"}) + 1;
  const std::string message =
      "applying " + action + " failure policy action (first failed job: " + job + ")";
  set_condition(
      {"RestartingJobSet", "True",
       rule ? "FailurePolicy_" + json::text_at(*rule, {"name"}) : "DefaultFailurePolicy", message},
      "Warning");
  outcome_.tell_with_status("Warning", action + "FailurePolicyAction", message);
}

}  // namespace hekla::controllers::jobset
