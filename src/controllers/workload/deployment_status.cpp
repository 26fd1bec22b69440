#include <algorithm>
#include <chrono>
#include <limits>

#include "controllers/workload/deployment.h"
#include "model/time.h"

namespace hekla::controllers {
namespace {

struct ConditionText {
  std::string_view type, status, reason;
  std::string message;
};

void set_condition(json::Array& conditions, const ConditionText& text, WallTime now,
                   bool refresh = false) {
  std::string time = model::format_rfc3339(now), since = time;
  if (const json::Value* old = find_condition(conditions, text.type)) {
    bool same = json::string_at(*old, {"status"}) == text.status;
    if (same && !refresh && json::string_at(*old, {"reason"}) == text.reason) return;
    if (same) since = json::string_at(*old, {"lastTransitionTime"});
  }
  drop_condition(conditions, text.type);
  conditions.push_back(json::Object{{"type", text.type},
                                    {"status", text.status},
                                    {"lastUpdateTime", time},
                                    {"lastTransitionTime", since},
                                    {"reason", text.reason},
                                    {"message", text.message}});
}

std::optional<std::int64_t> deadline_of(const AnyObject& deployment) {
  std::int64_t seconds = json::int_at(deployment.spec, {"progressDeadlineSeconds"}, 600);
  if (seconds == std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return seconds;
}

// Whether the rollout has stood still for too long; otherwise `wait` is when to look again.
bool timed_out(const AnyObject& deployment, const json::Array& conditions, WallTime now,
               std::int64_t deadline, std::optional<Nanos>& wait) {
  const json::Value* progress = find_condition(conditions, "Progressing");
  if (!progress) return false;
  std::string_view reason = json::string_at(*progress, {"reason"});
  if (reason == "NewReplicaSetAvailable" || json::bool_at(deployment.spec, {"paused"}))
    return false;
  if (reason == "ProgressDeadlineExceeded") return true;
  Result<WallTime> from = model::parse_rfc3339(json::string_at(*progress, {"lastUpdateTime"}));
  if (!from) return false;
  WallTime until = *from + std::chrono::seconds(deadline);
  if (until < now) return true;
  wake_in(wait, until - now + std::chrono::seconds(1));
  return false;
}

bool moved(const AnyObject& deployment, const json::Object& status) {
  auto before = [&](std::string_view name) { return json::int_at(deployment.status, {name}); };
  auto after = [&](std::string_view name) { return json::int_at(json::Value(status), {name}); };
  return after("updatedReplicas") > before("updatedReplicas") ||
         after("replicas") - after("updatedReplicas") <
             before("replicas") - before("updatedReplicas") ||
         after("readyReplicas") > before("readyReplicas") ||
         after("availableReplicas") > before("availableReplicas");
}

void note_progress(const Rollout& rollout, const json::Object& status, json::Array& conditions,
                   WallTime now, bool created, std::optional<Nanos>& wait) {
  const AnyObject& deployment = rollout.deployment;
  std::optional<std::int64_t> deadline = deadline_of(deployment);
  if (!deadline) return drop_condition(conditions, "Progressing");
  auto reason = [&] {
    const json::Value* old = find_condition(conditions, "Progressing");
    return old ? std::string(json::string_at(*old, {"reason"})) : std::string();
  };
  if (rollout.paused()) {
    if (reason() != "ProgressDeadlineExceeded")
      set_condition(conditions,
                    {"Progressing", "Unknown", "DeploymentPaused", "Deployment is paused"}, now);
    return;
  }
  if (reason() == "DeploymentPaused")
    set_condition(conditions,
                  {"Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed"}, now);
  if (!rollout.current) return;
  std::string set = "ReplicaSet \"" + rollout.current->object->metadata.name + "\"";
  if (created)
    set_condition(conditions,
                  {"Progressing", "True", "NewReplicaSetCreated",
                   "Created new replica set \"" + rollout.current->object->metadata.name + "\""},
                  now);
  else if (reason().empty())
    set_condition(conditions,
                  {"Progressing", "True", "FoundNewReplicaSet",
                   "Found new replica set \"" + rollout.current->object->metadata.name + "\""},
                  now);
  std::int64_t total = json::int_at(json::Value(status), {"replicas"});
  std::int64_t updated = json::int_at(json::Value(status), {"updatedReplicas"});
  if (total == updated && reason() == "NewReplicaSetAvailable") return;
  if (deployment_complete(rollout, status))
    set_condition(
        conditions,
        {"Progressing", "True", "NewReplicaSetAvailable", set + " has successfully progressed."},
        now);
  else if (moved(deployment, status))
    set_condition(conditions,
                  {"Progressing", "True", "ReplicaSetUpdated", set + " is progressing."}, now,
                  true);
  else if (timed_out(deployment, conditions, now, *deadline, wait))
    set_condition(
        conditions,
        {"Progressing", "False", "ProgressDeadlineExceeded", set + " has timed out progressing."},
        now);
}

}  // namespace

bool deployment_complete(const Rollout& rollout, const json::Object& status) {
  json::Value value(status);
  return json::int_at(value, {"updatedReplicas"}) == rollout.wanted() &&
         json::int_at(value, {"replicas"}) == rollout.wanted() &&
         json::int_at(value, {"availableReplicas"}) == rollout.wanted() &&
         json::int_at(value, {"observedGeneration"}) >= rollout.deployment.metadata.generation;
}

json::Object deployment_status(const Rollout& rollout, WallTime now, bool created,
                               std::optional<Nanos>& wait) {
  const AnyObject& deployment = rollout.deployment;
  std::int64_t total = 0, ready = 0, available = 0, updated = 0;
  const json::Value* failure = nullptr;
  auto count = [&](const RolloutSet& set) {
    total += json::int_at(set.object->status, {"replicas"});
    ready += json::int_at(set.object->status, {"readyReplicas"});
    available += set.available();
    if (!failure) failure = find_condition(conditions_of(*set.object), "ReplicaFailure");
  };
  if (rollout.current) {
    count(*rollout.current);
    updated = total;
  }
  for (const RolloutSet& set : rollout.old) count(set);
  json::Object status;
  put_count(status, "observedGeneration", deployment.metadata.generation);
  put_count(status, "replicas", total);
  put_count(status, "updatedReplicas", updated);
  put_count(status, "readyReplicas", ready);
  put_count(status, "availableReplicas", available);
  put_count(status, "unavailableReplicas", std::max<std::int64_t>(0, rollout.total() - available));
  if (const json::Value* collisions = json::find(deployment.status, "collisionCount"))
    status["collisionCount"] = *collisions;

  json::Array conditions = conditions_of(deployment);
  if (available >= rollout.wanted() - rollout.max_unavailable())
    set_condition(
        conditions,
        {"Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."},
        now);
  else
    set_condition(conditions,
                  {"Available", "False", "MinimumReplicasUnavailable",
                   "Deployment does not have minimum availability."},
                  now);
  note_progress(rollout, status, conditions, now, created, wait);
  if (failure)
    set_condition(conditions,
                  {"ReplicaFailure", "True", json::string_at(*failure, {"reason"}),
                   std::string(json::string_at(*failure, {"message"}))},
                  now);
  else
    drop_condition(conditions, "ReplicaFailure");
  status["conditions"] = std::move(conditions);
  return status;
}

}  // namespace hekla::controllers
