// An io_context with the one thread that runs it: what is posted to it or waits on it runs one
// after another, so that a connection which stays with one of these needs neither locks nor
// strands, and stays in one processor's cache.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <string>

#include "base/loop.h"

namespace hekla::net {

namespace asio = boost::asio;

class IoThread {
 public:
  // The thread starts at once.
  explicit IoThread(std::string name);
  ~IoThread() { finish(); }

  asio::io_context& io() { return io_; }
  // Lets the thread end once nothing is pending any more, and waits for it. Idempotent. Not on it.
  void finish();

 private:
  void run();

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  WorkerPool thread_;  // last: it ends before what it runs on
};

}  // namespace hekla::net
