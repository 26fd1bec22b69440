// Tasks wait in loops that may outlive the object they belong to. A task guarded by the object's
// lifeline runs only while the line is whole; cutting it waits for the one that is just running.
#pragma once

#include <memory>
#include <mutex>

#include "base/executor.h"

namespace hekla::store {

class Lifeline {
 public:
  Lifeline() : state_(std::make_shared<State>()) {}
  ~Lifeline() { cut(); }
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  Task guard(Task task) const {
    return [state = state_, task = std::move(task)]() mutable {
      std::lock_guard lock(state->mutex);
      if (state->whole) task();
    };
  }

  void cut() {
    std::lock_guard lock(state_->mutex);
    state_->whole = false;
  }

 private:
  struct State {
    std::mutex mutex;
    bool whole = true;
  };
  std::shared_ptr<State> state_;
};

}  // namespace hekla::store
