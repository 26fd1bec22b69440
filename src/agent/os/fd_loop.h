// One thread that waits for many file descriptors: the pipes, terminals and sockets of exec, attach
// and port-forward.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/os/file_descriptor.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/loop.h"
#include "base/result.h"

namespace hekla::agent {

class FdLoop {
  struct Private {};

 public:
  explicit FdLoop(Private) {}
  static Result<std::unique_ptr<FdLoop>> open(const std::string& thread_name);
  ~FdLoop() { stop(); }
  // Joins the thread; tasks that have not run are dropped. Idempotent, not on the thread itself.
  void stop();

  // From any thread.
  void post(Task task);

  // On the loop's own thread. `events` are epoll's; 0 takes the descriptor off. The callback gets
  // what is ready, and may change or remove what is watched.
  using Ready = std::function<void(std::uint32_t events)>;
  void watch(int fd, std::uint32_t events, Ready ready);
  void after(Nanos delay, Task task);

 private:
  void run();
  bool run_tasks();  // false: the loop stops
  int run_timers();  // milliseconds until the next
  struct Watch {
    std::uint32_t events = 0;
    std::shared_ptr<const Ready> ready;
  };

  FileDescriptor epoll_, wake_;
  std::mutex mutex_;
  std::vector<Task> tasks_;
  bool stopping_ = false;
  std::map<int, Watch> watches_;          // the thread's own
  std::multimap<MonoTime, Task> timers_;  // the thread's own
  std::unique_ptr<WorkerPool> thread_;
};

}  // namespace hekla::agent
