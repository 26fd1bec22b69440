// The order in which queues and jobs get their turns: the best queue, then its best job, each
// looked up again after every turn, because a placement changes both.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

// A binary heap that exchanges parent and child exactly as Go's container/heap does, so that where
// an order is no strict one the outcome is Volcano's.
template <class T, class Before>
class Heap {
 public:
  explicit Heap(Before before) : before_(std::move(before)) {}
  bool empty() const { return items_.empty(); }
  void push(T item) {
    items_.push_back(item);
    for (std::size_t at = items_.size() - 1; at > 0;) {
      std::size_t parent = (at - 1) / 2;
      if (!before_(items_[at], items_[parent])) break;
      std::swap(items_[at], items_[parent]);
      at = parent;
    }
  }
  T pop() {
    std::size_t left = items_.size() - 1;
    std::swap(items_.front(), items_[left]);
    for (std::size_t at = 0;;) {
      std::size_t child = 2 * at + 1;
      if (child >= left) break;
      if (child + 1 < left && before_(items_[child + 1], items_[child])) ++child;
      if (!before_(items_[child], items_[at])) break;
      std::swap(items_[at], items_[child]);
      at = child;
    }
    T item = items_.back();
    items_.pop_back();
    return item;
  }

 private:
  std::vector<T> items_;
  Before before_;
};

class Turns {
 public:
  explicit Turns(Session& session)
      : session_(session),
        jobs_(session.cluster().queues().size(), JobHeap(JobBefore{&session})),
        listed_(session.cluster().queues().size(), false) {}

  void add(JobId job) {
    QueueId queue = session_.at(job).queue;
    jobs_[queue.index()].push(job);
    if (listed_[queue.index()]) return;
    listed_[queue.index()] = true;
    queues_.push_back(queue);
  }
  bool empty() const { return queues_.empty(); }
  // Takes the best queue out; put it back with again() or it has no more turns.
  // The queues are compared anew each time: with hierarchies one queue's turn changes the share of
  // others, and a heap would not notice.
  QueueId next_queue() {
    std::size_t best = 0;
    for (std::size_t i = 1; i < queues_.size(); ++i)
      if (session_.queue_before(queues_[i], queues_[best])) best = i;
    QueueId queue = queues_[best];
    queues_[best] = queues_.back();
    queues_.pop_back();
    return queue;
  }
  void again(QueueId queue) { queues_.push_back(queue); }
  bool has_jobs(QueueId queue) const { return !jobs_[queue.index()].empty(); }
  JobId next_job(QueueId queue) { return jobs_[queue.index()].pop(); }
  void again(JobId job) { jobs_[session_.at(job).queue.index()].push(job); }

 private:
  struct JobBefore {
    const Session* session;
    bool operator()(JobId a, JobId b) const { return session->job_before(a, b); }
  };
  using JobHeap = Heap<JobId, JobBefore>;

  Session& session_;
  std::vector<JobHeap> jobs_;
  std::vector<QueueId> queues_;
  std::vector<bool> listed_;
};

}  // namespace hekla::scheduler
