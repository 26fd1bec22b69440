// Pod conditions that wait before they are written: most pods that are told to wait are placed a
// moment later, and a pod that goes on waiting has a new number in the same message all the time.
// Against a real API server each of those would be a request.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/cluster/cluster.h"
#include "scheduler/session/decisions.h"

namespace hekla::scheduler {

class HeldConditions {
 public:
  // A condition is written when it has been the pod's last for `delay`. 0: nothing is held.
  explicit HeldConditions(Nanos delay) : delay_(delay) {}
  bool on() const { return delay_ > Nanos(0); }

  // The newest of a pod counts.
  void hold(const Cluster& cluster, PodConditionDecision decision, MonoTime now);
  // Conditions whose time has come, of pods that still wait.
  std::vector<PodConditionDecision> take_due(const Cluster& cluster, MonoTime now);
  // The moment at which take_due() has something next.
  std::optional<MonoTime> next() const;
  // Writing it has failed.
  void forget(TaskId task) { said_.erase(task); }

 private:
  struct Held {
    std::string uid;
    PodConditionDecision decision;
    MonoTime due;
  };
  struct Said {
    std::string uid, reason;
    MonoTime at;
  };
  const Nanos delay_;
  std::map<TaskId, Held> held_;
  std::map<TaskId, Said> said_;
};

}  // namespace hekla::scheduler
