// The state that the parts of a pod's worker share: the pod's latest revision, its record, and the
// ways to speak, to wait and to go on. Lives inside its worker, on the agent's executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/pod/pod_context.h"
#include "agent/pod/pod_status.h"
#include "agent/record/agent_pod.h"
#include "base/check.h"

namespace hekla::agent {

// Why a pod has to end.
enum class Ending { no, deleted, vanished, deadline, evicted, shutdown };

class PodState {
 public:
  PodState(PodContext& context, AgentPodPtr pod, PodRecord record)
      : context(context), pod(std::move(pod)), record(std::move(record)) {}

  PodContext& context;
  AgentPodPtr pod;  // the API's latest
  PodRecord record;
  Ending ending = Ending::no;
  Nanos eviction_grace{};
  bool inspected = true;  // the record says what has happened to the containers

  // A container that is not started at present, and why.
  struct Hold {
    WallTime until;
    WaitingReason why;
  };
  std::map<std::string, Hold> holds;  // by container
  void hold(const std::string& container, WaitingReason why, Nanos delay);

  // The worker's, set before anything else is called: look at everything anew, and tell the API.
  std::function<void()> step, report;
  std::weak_ptr<const void> life;

  WallTime now() const { return context.client.executor().clock().wall(); }
  PodFacts facts() const;
  std::string described() const;  // name_namespace(uid), as in the kubelet's messages
  // The spec of one of the record's containers; null when a changed pod has lost it.
  const model::Container* spec_of(std::size_t container) const;
  bool is_running(std::size_t container) const;
  // The time that a container has to end by itself.
  Nanos grace() const;
  void event(const char* type, const char* reason, const std::string& message) const;
  void wake_at(WallTime when);

  // One piece of work at a time: steps wait until it is over.
  bool is_busy() const { return busy_; }
  void begin_work() {
    CHECK(!busy_, "a pod has one piece of work at a time");
    busy_ = true;
  }
  void end_work() {
    CHECK(busy_, "work that ends has begun");
    busy_ = false;
  }
  // A call that is left out once the worker is gone.
  template <class Call>
  auto guarded(Call call) {
    return [life = life, call = std::move(call)](auto&&... arguments) mutable {
      if (auto alive = life.lock()) call(std::forward<decltype(arguments)>(arguments)...);
    };
  }
  // Begins work; the completion ends it, runs `next` and steps.
  template <class T, class Next>
  Done<T> work(Next next) {
    begin_work();
    return guarded([this, next = std::move(next)](Result<T> result) mutable {
      end_work();
      next(std::move(result));
      step();
    });
  }

 private:
  bool busy_ = false;
  std::optional<WallTime> wake_;
};

}  // namespace hekla::agent
