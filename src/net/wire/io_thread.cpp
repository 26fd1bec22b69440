#include "net/wire/io_thread.h"

#include <boost/asio/post.hpp>
#include <exception>
#include <future>

#include "base/check.h"
#include "base/log.h"

namespace hekla::net {
namespace {

thread_local IoThread* current_thread = nullptr;

}  // namespace

IoThread::IoThread(std::string name)
    : work_(asio::make_work_guard(io_)), thread_(std::move(name), 1) {
  Task task = [this] { run(); };
  CHECK(thread_.try_post(task), "a new pool takes work");
}

IoThread* IoThread::current() { return current_thread; }

int IoThread::on_finish(std::function<void()> leave) {
  std::lock_guard lock(mutex_);
  if (finished_) leave();
  leaving_.emplace(++next_, std::move(leave));
  return next_;
}

void IoThread::forget(int leave) {
  CHECK(current() != this, "whoever waits for the thread is not on it");
  std::lock_guard lock(mutex_);
  leaving_.erase(leave);
}

void IoThread::settle() {
  CHECK(current() != this, "whoever waits for the thread is not on it");
  std::promise<void> reached;
  {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    // Twice: a task that the thread itself has posted while it ran another may stand behind the
    // first of these, and still belongs to whoever waits here.
    asio::post(io_, [this, &reached] { asio::post(io_, [&reached] { reached.set_value(); }); });
  }
  reached.get_future().wait();
}

void IoThread::finish() {
  CHECK(current() != this, "whoever waits for the thread is not on it");
  {
    std::lock_guard lock(mutex_);
    if (!std::exchange(finished_, true))
      asio::post(io_, [this] {
        std::lock_guard leaving(mutex_);
        for (const auto& [number, leave] : leaving_) leave();
      });
  }
  work_.reset();
  thread_.stop();
}

// One connection's exception (out of memory, out of descriptors, a callback's own) is not the end
// of the others.
void IoThread::run() {
  current_thread = this;
  while (true) {
    try {
      io_.run();
      break;
    } catch (const std::exception& thrown) {
      log_error("net", "an exception reached a network thread", {{"error", thrown.what()}});
    }
  }
  current_thread = nullptr;
}

}  // namespace hekla::net
