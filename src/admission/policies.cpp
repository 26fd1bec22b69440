#include "admission/policies.h"

#include <algorithm>
#include <set>

#include "admission/text.h"

namespace hekla::admission {
namespace {

const std::vector<std::string> kEvents = {"*",       "PodFailed",     "PodEvicted", "PodPending",
                                          "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"};
const std::vector<std::string> kActions = {"AbortJob",    "RestartJob",       "RestartTask",
                                           "RestartPod",  "RestartPartition", "TerminateJob",
                                           "CompleteJob", "ResumeJob"};

bool contains(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// The events of a policy, each once, in the order they are looked at.
std::vector<std::string> events_of(const model::LifecyclePolicy& policy) {
  std::vector<std::string> events;
  for (const std::string& event : policy.events)
    if (!contains(events, event)) events.push_back(event);
  if (!policy.event.empty() && !contains(events, policy.event)) events.push_back(policy.event);
  return events;
}

// What is wrong with one policy, given what the earlier ones have taken; empty when nothing is.
std::string error_of(const model::LifecyclePolicy& policy, std::string_view path,
                     std::set<std::string>& taken_events, std::set<std::int32_t>& taken_codes) {
  std::vector<std::string> events = events_of(policy);
  if (!events.empty() && policy.exitCode)
    return "must not specify event and exitCode simultaneously";
  if (events.empty() && !policy.exitCode) return "either event and exitCode should be specified";
  for (const std::string& event : events) {
    if (!contains(kEvents, event)) return invalid_field(path, event, "invalid policy event");
    if (!contains(kActions, policy.action))
      return invalid_field(path, policy.action, "invalid policy action");
    if (!taken_events.insert(event).second)
      return "duplicate event " + event + "  across different policy";
  }
  if (!events.empty()) return {};
  if (*policy.exitCode == 0) return "0 is not a valid error code";
  if (!taken_codes.insert(*policy.exitCode).second)
    return "duplicate exitCode " + std::to_string(*policy.exitCode);
  return {};
}

}  // namespace

std::string policy_errors(const std::vector<model::LifecyclePolicy>& policies,
                          std::string_view path) {
  std::vector<std::string> errors;
  std::set<std::string> taken_events;
  std::set<std::int32_t> taken_codes;
  for (const model::LifecyclePolicy& policy : policies) {
    std::string error = error_of(policy, path, taken_events, taken_codes);
    if (error.empty()) continue;
    errors.push_back(std::move(error));
    break;
  }
  if (taken_events.contains("*") && taken_events.size() > 1)
    errors.push_back("if there's * here, no other policy should be here");
  if (errors.empty()) return {};
  return multierror(errors) + " valid events are " + bracketed(kEvents) + ", valid actions are " +
         bracketed(kActions) + ";";
}

}  // namespace hekla::admission
