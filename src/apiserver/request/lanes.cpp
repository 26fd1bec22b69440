#include "apiserver/request/lanes.h"

namespace hekla::apiserver {

class Lanes::Lane final : public Executor {
 public:
  Lane(std::shared_ptr<net::OwnThread> thread, Executor& loop)
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

Lanes::Lanes(Executor& loop) : loop_(loop) {}

Lanes::~Lanes() = default;

Executor& Lanes::here() {
  std::shared_ptr<net::OwnThread> thread = net::OwnThread::current();
  if (!thread) return loop_;
  std::lock_guard lock(mutex_);
  std::unique_ptr<Lane>& lane = lanes_[thread];
  if (!lane) lane = std::make_unique<Lane>(thread, loop_);
  return *lane;
}

}  // namespace hekla::apiserver
