// The net thread that a connection lives on, for work that belongs to that connection alone: done
// there, it wakes no other thread, and what it touches stays in the cache of the processor that
// sends.
#pragma once

#include <memory>

#include "base/executor.h"

namespace hekla::net {

class OwnThread {
 public:
  virtual ~OwnThread() = default;
  // From any thread; tasks run in order and must not block. False, and the task is not taken, once
  // the server has stopped.
  virtual bool post(Task& task) = 0;

  // For a handler: the thread it is being called on. Null where that is none of a server's.
  static std::shared_ptr<OwnThread> current();
};

}  // namespace hekla::net
