// An io_context with the threads that run it.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <string>

#include "base/loop.h"

namespace hekla::net {

namespace asio = boost::asio;

class IoThreads {
 public:
  // The threads start at once. `count` is at least 1.
  IoThreads(std::string name, int count);
  ~IoThreads() { finish(); }

  asio::io_context& io() { return io_; }
  // Lets the threads end once nothing is pending any more, and waits for them. Idempotent. Not on
  // one of them.
  void finish();

 private:
  void run();

  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  WorkerPool threads_;  // last: it ends before what it runs on
};

}  // namespace hekla::net
