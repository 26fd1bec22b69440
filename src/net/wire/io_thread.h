// An io_context with the one thread that runs it: what is posted to it or waits on it runs one
// after another, so that a connection which stays with one of these needs neither locks nor
// strands, and stays in one processor's cache.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/loop.h"

namespace hekla::net {

namespace asio = boost::asio;

class IoThread : public std::enable_shared_from_this<IoThread> {
 public:
  // The thread starts at once.
  explicit IoThread(std::string name);
  ~IoThread() { finish(); }
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  asio::io_context& io() { return io_; }
  // The one whose thread this is; null elsewhere.
  static IoThread* current();

  // `leave` runs on the thread when it is told to finish: whatever lives there ends its own waits.
  // Told already: it runs at once. After forget() has returned it will not run any more; not on the
  // thread.
  int on_finish(std::function<void()> leave);
  void forget(int leave);
  // Waits until everything that is posted by now has run; nothing runs any more after finish(). Not
  // on the thread.
  void settle();
  // Lets the thread end once nothing is pending any more, and waits for it. Idempotent. Not on it.
  void finish();

 private:
  void run();

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::mutex mutex_;
  std::map<int, std::function<void()>> leaving_;
  int next_ = 0;
  bool finished_ = false;
  WorkerPool thread_;  // last: it ends before what it runs on
};

}  // namespace hekla::net
