// A thread that leaves the host's network namespace without being the host's root cannot return. A
// rootless agent therefore visits the pods' namespaces on a thread of its own, whose home is an
// empty one. So it is with IPC namespaces.
#pragma once

#include <functional>
#include <future>
#include <memory>

#include "agent/os/instance.h"
#include "base/loop.h"

namespace hekla::agent {

// run() from any thread; what is run there may call it again.
class NetnsThread {
 public:
  // `instance` outlives it. Blocks.
  static Result<std::unique_ptr<NetnsThread>> start(const InstanceNamespace& instance);
  ~NetnsThread() { pool_.stop(); }

  int home() const { return home_.get(); }
  template <class T>
  Result<T> run(const std::function<Result<T>()>& work) {
    if (is_here()) return work();
    std::promise<Result<T>> promise;
    std::future<Result<T>> future = promise.get_future();
    Task task = [&] { promise.set_value(work()); };
    if (!pool_.try_post(task)) return fail(Code::unavailable, "the agent is stopping");
    return future.get();
  }

 private:
  bool is_here() const;
  Result<void> settle(const InstanceNamespace& instance);

  FileDescriptor home_;
  WorkerPool pool_{"hekla-netns", 1};
};

}  // namespace hekla::agent
