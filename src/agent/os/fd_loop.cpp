#include "agent/os/fd_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/log.h"

namespace hekla::agent {

Result<std::unique_ptr<FdLoop>> FdLoop::open(const std::string& thread_name) {
  auto loop = std::make_unique<FdLoop>(Private{});
  loop->epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!loop->epoll_) return errno_error("open epoll");
  loop->wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!loop->wake_) return errno_error("open an eventfd");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = loop->wake_.get();
  if (::epoll_ctl(loop->epoll_.get(), EPOLL_CTL_ADD, loop->wake_.get(), &event) != 0)
    return errno_error("watch an eventfd");
  loop->thread_ = std::make_unique<WorkerPool>(thread_name, 1);
  Task run = [raw = loop.get()] { raw->run(); };
  if (!loop->thread_->try_post(run)) return fail(Code::internal, "start the stream loop");
  return loop;
}

void FdLoop::stop() {
  if (!thread_) return;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
  }
  eventfd_write(wake_.get(), 1);
  thread_->stop();
}

void FdLoop::post(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
  }
  eventfd_write(wake_.get(), 1);
}

void FdLoop::watch(int fd, std::uint32_t events, Ready ready) {
  CHECK(fd >= 0 && (events == 0 || ready), "an open descriptor is watched for somebody");
  auto known = watches_.find(fd);
  if (events == 0) {
    if (known == watches_.end()) return;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    watches_.erase(known);
    return;
  }
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  int operation = known == watches_.end() ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (::epoll_ctl(epoll_.get(), operation, fd, &event) != 0)
    log_warn("agent", "watch a stream", {{"error", errno_error("epoll").error().message}});
  watches_[fd] = Watch{events, std::make_shared<const Ready>(std::move(ready))};
}

void FdLoop::after(Nanos delay, Task task) {
  timers_.emplace(real_clock().mono() + delay, std::move(task));
}

bool FdLoop::run_tasks() {
  std::vector<Task> tasks;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return false;
    tasks.swap(tasks_);
  }
  for (Task& task : tasks) task();
  return true;
}

int FdLoop::run_timers() {
  while (!timers_.empty() && timers_.begin()->first <= real_clock().mono()) {
    Task task = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    task();
  }
  if (timers_.empty()) return -1;
  auto left =
      std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - real_clock().mono());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void FdLoop::run() {
  std::array<epoll_event, 64> events;
  // Whether to stop is asked after the wake-up has been read: one that came later is still there.
  while (run_tasks()) {
    int timeout = run_timers();
    int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
    for (int i = 0; i < ready; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == wake_.get()) {
        eventfd_t ignored;
        eventfd_read(wake_.get(), &ignored);
        continue;
      }
      auto watch = watches_.find(event.data.fd);
      if (watch == watches_.end()) continue;
      std::shared_ptr<const Ready> call = watch->second.ready;  // it may take itself off
      (*call)(event.events);
    }
  }
  watches_.clear();
  timers_.clear();
  std::vector<Task> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(tasks_);
}

}  // namespace hekla::agent
