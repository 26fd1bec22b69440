// The placements and evictions of one job's turn: applied at once, then made final or taken back
// together.
#pragma once

#include <string_view>
#include <vector>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

class Statement {
 public:
  explicit Statement(Session& session) : session_(session) {}

  // false: a plugin refused, and nothing has changed.
  bool allocate(TaskId task, NodeId node) { return place(task, TaskStatus::allocated, node); }
  bool pipeline(TaskId task, NodeId node, bool evicted_for = false) {
    if (!place(task, TaskStatus::pipelined, node)) return false;
    steps_.back().evicted_for = evicted_for;
    return true;
  }
  void evict(TaskId task, std::string_view reason) {
    steps_.push_back({task, session_.at(task).status, reason, false});
    session_.release(task);
  }
  // The task is not evicted after all.
  void withdraw(TaskId task) {
    for (std::size_t i = steps_.size(); i-- > 0;) {
      if (steps_[i].task != task || steps_[i].reason.empty()) continue;
      session_.unrelease(task, steps_[i].before);
      steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }

  // What was placed after the first `from` steps, to be done again after a discard.
  struct Placement {
    TaskId task;
    NodeId node;
    bool waits = false;
  };
  std::vector<Placement> placements(std::size_t from = 0) const {
    std::vector<Placement> out;
    for (std::size_t i = from; i < steps_.size(); ++i) {
      const Task& task = session_.at(steps_[i].task);
      if (steps_[i].reason.empty())
        out.push_back({steps_[i].task, task.node, task.status == TaskStatus::pipelined});
    }
    return out;
  }
  bool replay(const std::vector<Placement>& placements) {
    for (const Placement& one : placements)
      if (!(one.waits ? pipeline(one.task, one.node) : allocate(one.task, one.node))) return false;
    return true;
  }
  // How much has been done so far: a point to go back to.
  std::size_t size() const { return steps_.size(); }

  // Allocated tasks are bound; pipelined ones keep their claim until the session ends; evicted ones
  // are deleted.
  void commit() {
    for (const Step& step : steps_) {
      if (!step.reason.empty())
        session_.evict(step.task, step.reason);
      else if (session_.at(step.task).status == TaskStatus::allocated)
        session_.bind(step.task);
      else
        session_.keep(step.task);
      if (step.evicted_for) session_.nominate(step.task);
    }
    steps_.clear();
  }
  // Everything after the first `left` steps is undone in reverse order; messages remember where the
  // tasks could have gone.
  void discard(std::size_t left = 0) {
    while (steps_.size() > left) {
      const Step& step = steps_.back();
      if (step.reason.empty()) {
        session_.remember(step.task);
        session_.unplace(step.task);
      } else {
        session_.unrelease(step.task, step.before);
      }
      steps_.pop_back();
    }
  }
  // Neither: the claims keep resources from later jobs and vanish with the session.
  void leave() {
    for (const Step& step : steps_) session_.keep(step.task);
    steps_.clear();
  }

 private:
  struct Step {
    TaskId task;
    TaskStatus before = TaskStatus::pending;
    std::string_view reason;  // of an eviction; empty for a placement
    bool evicted_for = false;
  };

  bool place(TaskId task, TaskStatus status, NodeId node) {
    if (!session_.place(task, status, node)) return false;
    steps_.push_back({task, TaskStatus::pending, {}, false});
    return true;
  }

  Session& session_;
  std::vector<Step> steps_;
};

}  // namespace hekla::scheduler
