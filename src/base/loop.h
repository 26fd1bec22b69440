// Loop: the production Executor, one thread with a bounded mailbox and timers. WorkerPool: a few
// threads for calls that block (mount, fork, waiting for a process); results go back by post().
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "base/executor.h"

namespace hekla {

class Loop final : public Executor {
 public:
  // `nice` as in nice(1): what can wait gives way to the other threads when there is work for every
  // core.
  explicit Loop(std::string name, int nice = 0, std::size_t mailbox_limit = 65536);
  ~Loop() override;

  [[nodiscard]] bool try_post(Task& task) override;
  void post(Task task) override;
  void post_after(Nanos delay, Task task) override;
  const Clock& clock() const override { return real_clock(); }

  // Ends the thread after the task now running; what is still queued is dropped. Idempotent. Must
  // not be called on the loop's own thread.
  void stop();
  bool on_loop_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  struct Timer {
    MonoTime when;
    std::uint64_t order;
    mutable Task task;
    bool operator>(const Timer& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  void run(const std::string& name, int nice);

  const std::size_t mailbox_limit_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::uint64_t timer_order_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

class WorkerPool {
 public:
  WorkerPool(std::string name, int threads, std::size_t queue_limit = 65536);
  ~WorkerPool();
  // False when the queue is full or the pool has stopped.
  [[nodiscard]] bool try_post(Task& task);
  void stop();

 private:
  void run(const std::string& name);
  const std::size_t queue_limit_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hekla
