// The order in which queues and jobs get their turns: the best queue, then its best job, each
// looked up again after every turn, because a placement changes both.
#pragma once

#include <algorithm>
#include <vector>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

template <class T, class Before>
class Heap {
 public:
  explicit Heap(Before before) : before_(std::move(before)) {}
  bool empty() const { return items_.empty(); }
  void push(T item) {
    items_.push_back(item);
    std::push_heap(items_.begin(), items_.end(), after());
  }
  T pop() {
    std::pop_heap(items_.begin(), items_.end(), after());
    T item = items_.back();
    items_.pop_back();
    return item;
  }

 private:
  auto after() const {
    return [this](const T& a, const T& b) { return before_(b, a); };
  }
  std::vector<T> items_;
  Before before_;
};

class Turns {
 public:
  explicit Turns(Session& session)
      : session_(session),
        jobs_(session.cluster().queues().size(), JobHeap(JobBefore{&session})),
        queues_(QueueBefore{&session}),
        listed_(session.cluster().queues().size(), false) {}

  void add(JobId job) {
    QueueId queue = session_.at(job).queue;
    jobs_[queue.index()].push(job);
    if (listed_[queue.index()]) return;
    listed_[queue.index()] = true;
    queues_.push(queue);
  }
  bool empty() const { return queues_.empty(); }
  // Takes the best queue out; put it back with again() or it has no more turns.
  QueueId next_queue() { return queues_.pop(); }
  void again(QueueId queue) { queues_.push(queue); }
  bool has_jobs(QueueId queue) const { return !jobs_[queue.index()].empty(); }
  JobId next_job(QueueId queue) { return jobs_[queue.index()].pop(); }
  void again(JobId job) { jobs_[session_.at(job).queue.index()].push(job); }

 private:
  struct JobBefore {
    const Session* session;
    bool operator()(JobId a, JobId b) const { return session->job_before(a, b); }
  };
  struct QueueBefore {
    const Session* session;
    bool operator()(QueueId a, QueueId b) const { return session->queue_before(a, b); }
  };
  using JobHeap = Heap<JobId, JobBefore>;

  Session& session_;
  std::vector<JobHeap> jobs_;
  Heap<QueueId, QueueBefore> queues_;
  std::vector<bool> listed_;
};

}  // namespace hekla::scheduler
