#include "net/io_threads.h"

#include <exception>

#include "base/check.h"
#include "base/log.h"

namespace hekla::net {

IoThreads::IoThreads(std::string name, int count)
    : work_(asio::make_work_guard(io_)), threads_(std::move(name), count) {
  for (int i = 0; i < count; ++i) {
    Task task = [this] { run(); };
    CHECK(threads_.try_post(task), "a new pool takes work");
  }
}

void IoThreads::finish() {
  work_.reset();
  threads_.stop();
}

// One connection's exception (out of memory, out of descriptors, a callback's own) is not the end
// of the others.
void IoThreads::run() {
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
