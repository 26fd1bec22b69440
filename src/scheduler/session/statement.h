// The placements of one job's turn: applied at once, then made final or taken back together.
#pragma once

#include <vector>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

class Statement {
 public:
  explicit Statement(Session& session) : session_(session) {}

  void allocate(TaskId task, NodeId node) { apply(task, TaskStatus::allocated, node); }
  void pipeline(TaskId task, NodeId node) { apply(task, TaskStatus::pipelined, node); }
  bool empty() const { return placed_.empty(); }

  // Allocated tasks are bound; pipelined ones keep their claim until the session ends.
  void commit() {
    for (TaskId task : placed_) {
      if (session_.at(task).status == TaskStatus::allocated)
        session_.bind(task);
      else
        session_.keep(task);
    }
    placed_.clear();
  }
  // Everything is undone in reverse order; messages remember where the tasks could have gone.
  void discard() {
    for (auto task = placed_.rbegin(); task != placed_.rend(); ++task) {
      session_.remember(*task);
      session_.unplace(*task);
    }
    placed_.clear();
  }
  // Neither: the claim keeps resources from later jobs and vanishes with the session.
  void leave() {
    for (TaskId task : placed_) session_.keep(task);
    placed_.clear();
  }

 private:
  void apply(TaskId task, TaskStatus status, NodeId node) {
    session_.place(task, status, node);
    placed_.push_back(task);
  }

  Session& session_;
  std::vector<TaskId> placed_;
};

}  // namespace hekla::scheduler
