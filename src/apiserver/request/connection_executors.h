// Where the rest of a request runs once its handler has returned: on the net thread of its
// connection. The answer is made where it is sent, and no other thread is woken in between.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/executor.h"
#include "net/own_thread.h"

namespace hekla::apiserver {

class ConnectionExecutors {
 public:
  // `loop` stands in on threads that are not net's, and keeps the time for all.
  explicit ConnectionExecutors(Executor& loop);
  ~ConnectionExecutors();
  // That of the calling thread; lives as long as this.
  Executor& here();

 private:
  class ConnectionExecutor;
  Executor& loop_;
  std::mutex mutex_;
  std::map<std::shared_ptr<net::OwnThread>, std::unique_ptr<ConnectionExecutor>> executors_;
};

}  // namespace hekla::apiserver
