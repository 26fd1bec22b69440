#include "framework/run_policy.h"

#include <chrono>

namespace hekla::framework {
namespace {

std::optional<std::int64_t> number_at(const json::Value& policy, std::string_view member) {
  const json::Value* found = json::find(policy, member);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return json::int_at(policy, {member});
}

// Nothing while the time is not over; `again_after` then says how long that is.
bool is_over(std::optional<WallTime> since, std::optional<std::int64_t> seconds, WallTime now,
             std::optional<Nanos>& again_after) {
  if (!since || !seconds) return false;
  const WallTime end = *since + std::chrono::seconds(*seconds);
  if (now >= end) return true;
  again_after = end - now;
  return false;
}

bool is_backoff_spent(const RunPolicy& policy, const RunFacts& facts) {
  if (!policy.backoff_limit) return false;
  const std::int64_t limit = *policy.backoff_limit;
  const bool restarted =
      limit == 0 ? facts.container_restarts > 0 : facts.container_restarts >= limit;
  return facts.retries > limit || restarted;
}

}  // namespace

RunPolicy read_run_policy(const json::Value* policy, CleanPods otherwise) {
  RunPolicy read;
  read.clean_pods = otherwise;
  if (policy == nullptr) return read;
  const std::string_view clean = json::string_at(*policy, {"cleanPodPolicy"});
  if (clean == "None") read.clean_pods = CleanPods::none;
  if (clean == "Running") read.clean_pods = CleanPods::running;
  if (clean == "All") read.clean_pods = CleanPods::all;
  read.ttl_seconds_after_finished = number_at(*policy, "ttlSecondsAfterFinished");
  read.active_deadline_seconds = number_at(*policy, "activeDeadlineSeconds");
  read.backoff_limit = number_at(*policy, "backoffLimit");
  read.suspend = json::bool_at(*policy, {"suspend"});
  return read;
}

RunVerdict judge(const RunPolicy& policy, const RunFacts& facts, WallTime now) {
  using Act = RunVerdict::Act;
  using Limit = RunVerdict::Limit;
  RunVerdict verdict;
  if (facts.finished) {
    verdict.act = is_over(facts.ended, policy.ttl_seconds_after_finished, now, verdict.again_after)
                      ? Act::remove_object
                      : Act::clean_up;
    return verdict;
  }
  if (policy.suspend) {
    verdict.act = Act::suspend;
    return verdict;
  }
  if (is_backoff_spent(policy, facts)) {
    verdict.act = Act::fail;
    verdict.limit = Limit::backoff;
  } else if (is_over(facts.started, policy.active_deadline_seconds, now, verdict.again_after)) {
    verdict.act = Act::fail;
    verdict.limit = Limit::deadline;
  }
  return verdict;
}

bool is_cleaned(CleanPods policy, const model::Pod& pod) {
  if (pod.metadata.deletionTimestamp || policy == CleanPods::none) return false;
  const std::string& phase = pod.status.phase;
  return policy == CleanPods::all || (phase != "Succeeded" && phase != "Failed");
}

}  // namespace hekla::framework
