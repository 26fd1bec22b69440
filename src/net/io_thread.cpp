#include "net/io_thread.h"

#include <exception>

#include "base/check.h"
#include "base/log.h"

namespace hekla::net {

IoThread::IoThread(std::string name)
    : work_(asio::make_work_guard(io_)), thread_(std::move(name), 1) {
  Task task = [this] { run(); };
  CHECK(thread_.try_post(task), "a new pool takes work");
}

void IoThread::finish() {
  work_.reset();
  thread_.stop();
}

// One connection's exception (out of memory, out of descriptors, a callback's own) is not the end
// of the others.
void IoThread::run() {
  while (true) {
    try {
      io_.run();
      return;
    } catch (const std::exception& thrown) {
      log_error("net", "an exception reached a network thread", {{"error", thrown.what()}});
    }
  }
}

}  // namespace hekla::net
