#include "apiserver/request/connection_executors.h"

namespace hekla::apiserver {

class ConnectionExecutors::ConnectionExecutor final : public Executor {
 public:
  ConnectionExecutor(std::shared_ptr<net::OwnThread> thread, Executor& loop)
      : thread_(std::move(thread)), loop_(loop) {}

  bool try_post(Task& task) override { return thread_->post(task); }
  void post(Task task) override { thread_->post(task); }
  // The loop's timers do not keep a net thread from ending.
  void post_after(Nanos delay, Task task) override {
    loop_.post_after(delay,
                     [thread = thread_, task = std::move(task)]() mutable { thread->post(task); });
  }
  const Clock& clock() const override { return loop_.clock(); }

 private:
  const std::shared_ptr<net::OwnThread> thread_;
  Executor& loop_;
};

ConnectionExecutors::ConnectionExecutors(Executor& loop) : loop_(loop) {}

ConnectionExecutors::~ConnectionExecutors() = default;

Executor& ConnectionExecutors::here() {
  std::shared_ptr<net::OwnThread> thread = net::OwnThread::current();
  if (!thread) return loop_;
  std::lock_guard lock(mutex_);
  std::unique_ptr<ConnectionExecutor>& executor = executors_[thread];
  if (!executor) executor = std::make_unique<ConnectionExecutor>(thread, loop_);
  return *executor;
}

}  // namespace hekla::apiserver
