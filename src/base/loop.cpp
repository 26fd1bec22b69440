#include "base/loop.h"

#include <pthread.h>
#include <sys/resource.h>

#include "base/check.h"

namespace hekla {
namespace {

void name_thread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace

Loop::Loop(std::string name, int nice, std::size_t mailbox_limit)
    : mailbox_limit_(mailbox_limit), thread_([this, name, nice] { run(name, nice); }) {}

Loop::~Loop() { stop(); }

bool Loop::try_post(Task& task) {
  std::lock_guard lock(mutex_);
  if (stopping_ || tasks_.size() >= mailbox_limit_) return false;
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) wake_.notify_one();
  return true;
}

void Loop::post(Task task) {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) wake_.notify_one();
}

void Loop::post_after(Nanos delay, Task task) {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  timers_.push(Timer{clock().mono() + delay, timer_order_++, std::move(task)});
  wake_.notify_one();
}

void Loop::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  CHECK(!on_loop_thread(), "a loop cannot wait for itself");
  if (thread_.joinable()) thread_.join();
}

void Loop::run(const std::string& name, int nice) {
  name_thread(name);
  // On Linux: of the calling thread.
  if (nice != 0) (void)::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + nice);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    MonoTime now = clock().mono();
    while (!timers_.empty() && timers_.top().when <= now) {
      tasks_.push_back(std::move(timers_.top().task));
      timers_.pop();
    }
    if (tasks_.empty()) {
      if (timers_.empty()) {
        wake_.wait(lock);
      } else {
        const MonoTime when =
            timers_.top().when;  // a copy: another thread may move the timers meanwhile
        wake_.wait_until(lock, when);
      }
      continue;
    }
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
  std::deque<Task> dropped = std::move(tasks_);
  lock.unlock();  // destructors of dropped tasks may post
}

WorkerPool::WorkerPool(std::string name, int threads, std::size_t queue_limit)
    : queue_limit_(queue_limit) {
  CHECK(threads > 0);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this, name] { run(name); });
}

WorkerPool::~WorkerPool() { stop(); }

bool WorkerPool::try_post(Task& task) {
  std::lock_guard lock(mutex_);
  if (stopping_ || tasks_.size() >= queue_limit_) return false;
  tasks_.push_back(std::move(task));
  wake_.notify_one();
  return true;
}

void WorkerPool::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void WorkerPool::run(const std::string& name) {
  name_thread(name);
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;  // what was accepted is finished before the pool ends
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace hekla
