// From what happens to pods and pod groups to requests, and the queue of requests of one job.
#pragma once

#include <deque>
#include <set>

#include "controllers/volcano/job/policies.h"
#include "controllers/volcano/job/round.h"

namespace hekla::controllers {

// What a change of a pod asks of its job; nullopt when the pod is not of a job. `killed` says that
// the job's controller has ended this pod itself.
struct PodRequest {
  kube::Key job;
  Request request;
};
std::optional<PodRequest> pod_request(const model::Pod* before, const model::Pod* after,
                                      bool killed);

// Reads events that depend on the whole role: the last pod of a role to succeed completes the task,
// too many restarts fail it.
Event read_event(const Request& request, const JobView& view);

// The requests of one job, oldest first.
class RequestQueue {
 public:
  struct Entry {
    std::uint64_t id;
    Request request;
  };

  // A request that only syncs is swallowed by one that is already waiting.
  void push(Request request);
  bool empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }

  // What the next round is about: the oldest request that calls for an action, or, when all only
  // sync, one sync for all of them. Requests whose action must wait first go to `delayed`, with an
  // event each.
  struct Choice {
    Action action = Action::sync;
    Request request;                  // the target of the action; merged flags for a sync
    std::vector<std::uint64_t> done;  // to be dropped once the round has succeeded
  };
  std::optional<Choice> choose(const JobView& view, DelayedActions& delayed,
                               std::vector<EventText>& events);
  void drop(const std::vector<std::uint64_t>& ids);
  void mark_announced(const std::vector<std::uint64_t>& ids);

 private:
  std::deque<Entry> entries_;
  std::uint64_t next_id_ = 1;
  // Entries up to this one have been looked at by a round, which may be in flight.
  std::uint64_t chosen_up_to_ = 0;
};

}  // namespace hekla::controllers
