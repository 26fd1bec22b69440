// The life of a run (a job of any training kind, a pipeline run): suspension, deadline, back-off
// limit, clean-up, time to live. One pure function; kinds give it the facts and follow its verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "model/core.h"

namespace hekla::framework {

enum class CleanPods { none, running, all };

struct RunPolicy {
  CleanPods clean_pods = CleanPods::none;
  std::optional<std::int64_t> ttl_seconds_after_finished;
  std::optional<std::int64_t> active_deadline_seconds;
  std::optional<std::int64_t> backoff_limit;
  bool suspend = false;
};

// spec.runPolicy of the training kinds, or null. An unknown cleanPodPolicy is `otherwise`.
RunPolicy read_run_policy(const json::Value* policy, CleanPods otherwise = CleanPods::none);

struct RunFacts {
  std::optional<WallTime> started, ended;  // status.startTime, status.completionTime
  bool finished = false;                   // Succeeded or Failed is True
  // Pods that have failed so far and were, or are to be, made again.
  std::int64_t retries = 0;
  // Restarts of containers within pods that are running.
  std::int64_t container_restarts = 0;
};

// The first of these that applies.
struct RunVerdict {
  enum class Act {
    go_on,
    suspend,        // stop the pods, keep the object
    fail,           // a limit was passed: `limit` says which
    clean_up,       // finished: remove the pods that CleanPods names
    remove_object,  // finished, and its time to live is over
  } act = Act::go_on;
  enum class Limit { none, backoff, deadline } limit = Limit::none;
  // When the verdict may change by time alone: the deadline, the end of the time to live.
  std::optional<Nanos> again_after = {};
};

RunVerdict judge(const RunPolicy& policy, const RunFacts& facts, WallTime now);

// Whether a pod of a finished run is removed under the policy. A pod that is terminating already is
// not.
bool is_cleaned(CleanPods policy, const model::Pod& pod);

}  // namespace hekla::framework
