// Requests to a job, lifecycle policies, and actions that wait for a timeout.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "controllers/volcano/job/state_machine.h"
#include "model/volcano.h"

namespace hekla::controllers {

enum class Event : std::uint8_t {
  none,  // the pod group has changed its phase
  out_of_sync,
  command_issued,
  pod_pending,
  pod_running,
  pod_failed,
  pod_evicted,
  job_unknown,
  task_completed,
  task_failed,
  // Seen on a pod, to be read as one of the above once the whole role is known (classify in
  // requests.h).
  pod_succeeded,
  pod_updated,
};
// The name policies use; empty for events they cannot name.
std::string_view text(Event event);

struct Request {
  Event event = Event::out_of_sync;
  std::optional<Action> action;  // a command, or a delayed action whose time has come
  std::string job_uid;
  std::string task, pod, pod_uid, partition;
  std::int32_t exit_code = 0;
  // Why the action was asked for, when no event of a pod or group says so.
  std::string reason, message;
  // The version the pod was created with; absent when the request is not about a pod.
  std::optional<std::int32_t> version;
  // The job has just entered its phase: a whole-job kill runs even when there is nothing left to
  // kill.
  bool phase_changed = false;
  // The events of this request have been recorded; it is being retried.
  bool announced = false;
};

struct Decision {
  Action action = Action::sync;
  Nanos delay{0};
};

// Explicit action, else the first matching policy of the task, else of the job, else sync. Events
// that come from an older version of the job, or from another job of the same name, only sync.
Decision resolve(const model::VcJob& job, const Request& request);

// Actions waiting for their policy's timeout, one per pod.
class DelayedActions {
 public:
  struct Waiting {
    Request cause;
    Action action = Action::sync;
    WallTime due;
  };

  // False when the same action already waits for that pod.
  bool add(const Request& cause, Action action, WallTime due);
  // A pod that is no longer pending, or has come back, calls off what waited for it.
  void cancel_for(const Request& request);
  // An action that has been carried out makes waiting ones of its reach pointless.
  void cancel_reached(Action action, const Request& target);
  std::vector<Waiting> take_due(WallTime now);
  std::optional<WallTime> next() const;
  bool empty() const { return waiting_.empty(); }
  void clear() { waiting_.clear(); }

 private:
  std::map<std::string, Waiting> waiting_;  // by pod name
};

}  // namespace hekla::controllers
