// The platform running out of a data directory: found by its lock, told to stop by its pid.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/rest_client.h"

namespace hekla::cli {

struct Instance {
  int pid = 0;
  std::string kubeconfig;  // path
};

// The instance that holds the data directory's lock, if any.
std::optional<Instance> find_instance(const std::string& data_dir);

// forbidden, with what to do, when the directory is somebody else's: whether a platform runs there
// cannot be told.
Result<void> check_readable(const std::string& data_dir);

// Holds the lock of a data directory for the life of the process that serves it.
class InstanceLock {
 public:
  // conflict (naming the pid) when another process holds it.
  static Result<std::unique_ptr<InstanceLock>> take(const std::string& data_dir);
  ~InstanceLock();
  explicit InstanceLock(int fd) : fd_(fd) {}

 private:
  int fd_;
};

// Whether an instance that is not running left pods behind.
bool has_left_pods(const std::string& data_dir);

// Sends SIGTERM and waits until the lock is free. Its pods end gracefully first, or at once, or
// they run on for the next start to take over.
enum class PodsAtStop { end, end_now, keep };
Result<void> stop_instance(const std::string& data_dir, std::chrono::seconds timeout,
                           PodsAtStop pods);
// The value that the signal bears when it asks for PodsAtStop::keep (sigqueue).
inline constexpr int kKeepPods = 1;

// `hekla up` as a child of this process, ready to be used. Destroying it stops it, and so does the
// end of this process, however it comes.
class ChildInstance {
 public:
  // `log` is the file that takes what it complains of; empty: standard error.
  static Result<std::unique_ptr<ChildInstance>> start(const std::string& executable,
                                                      std::vector<std::string> arguments,
                                                      std::chrono::seconds timeout,
                                                      const std::string& log = {});
  ~ChildInstance();
  const std::string& ready_line() const { return ready_line_; }
  // Lets its pods end gracefully and waits; the child's exit code.
  int stop();
  // From any thread: pods that are ending, now or in stop(), have no more time to do so.
  void hurry();

 private:
  std::atomic<int> pid_ = 0;
  int output_ = -1;
  std::string ready_line_;
};

}  // namespace hekla::cli
