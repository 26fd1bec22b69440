#include "scheduler/loop/held_conditions.h"

#include <algorithm>

namespace hekla::scheduler {
namespace {

// Until the same reason is told again in other words.
constexpr Nanos kSameReason = std::chrono::seconds(10);

bool still_waits(const Cluster& cluster, TaskId id, const std::string& uid) {
  if (id.index() >= cluster.tasks().size()) return false;
  const Task& task = cluster.at(id);
  return task.live && task.uid == uid && task.status == TaskStatus::pending;
}

}  // namespace

void HeldConditions::hold(const Cluster& cluster, PodConditionDecision decision, MonoTime now) {
  const TaskId id = decision.task;
  const std::string& uid = cluster.at(id).uid;
  MonoTime due = now + delay_;
  auto said = said_.find(id);
  if (said != said_.end() && said->second.uid == uid && said->second.reason == decision.reason)
    due = std::max(due, said->second.at + kSameReason);
  // A pod that waits for victims to end is to be seen at once.
  if (decision.nominated.valid()) due = now;
  auto [held, is_new] = held_.try_emplace(id, Held{uid, {}, due});
  if (!is_new) {
    // In other words it is still the same wait.
    const bool goes_on = held->second.uid == uid && held->second.decision.reason == decision.reason;
    held->second.due = goes_on ? std::min(held->second.due, due) : due;
    held->second.uid = uid;
  }
  held->second.decision = std::move(decision);
}

std::vector<PodConditionDecision> HeldConditions::take_due(const Cluster& cluster, MonoTime now) {
  std::vector<PodConditionDecision> due;
  for (auto held = held_.begin(); held != held_.end();) {
    if (!still_waits(cluster, held->first, held->second.uid)) {
      said_.erase(held->first);
      held = held_.erase(held);
    } else if (held->second.due <= now) {
      said_[held->first] = {held->second.uid, held->second.decision.reason, now};
      due.push_back(std::move(held->second.decision));
      held = held_.erase(held);
    } else {
      ++held;
    }
  }
  return due;
}

std::optional<MonoTime> HeldConditions::next() const {
  std::optional<MonoTime> first;
  for (const auto& [task, held] : held_)
    if (!first || held.due < *first) first = held.due;
  return first;
}

}  // namespace hekla::scheduler
