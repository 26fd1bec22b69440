// Tasks wait in loops that may outlive the object they belong to. A task that the object's guard
// has wrapped runs only until cancel(), which waits for the one that is just running.
#pragma once

#include <memory>
#include <mutex>

#include "base/executor.h"

namespace hekla::store {

class CancellationGuard {
 public:
  CancellationGuard() : state_(std::make_shared<State>()) {}
  ~CancellationGuard() { cancel(); }
  CancellationGuard(const CancellationGuard&) = delete;
  CancellationGuard& operator=(const CancellationGuard&) = delete;

  Task wrap(Task task) const {
    return [state = state_, task = std::move(task)]() mutable {
      std::lock_guard lock(state->mutex);
      if (!state->cancelled) task();
    };
  }

  void cancel() {
    std::lock_guard lock(state_->mutex);
    state_->cancelled = true;
  }

 private:
  struct State {
    std::mutex mutex;
    bool cancelled = false;
  };
  std::shared_ptr<State> state_;
};

}  // namespace hekla::store
