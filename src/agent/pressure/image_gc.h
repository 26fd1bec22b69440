// When images have to make room, as the kubelet decides it, and the loop that makes them.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/image/image_store.h"
#include "agent/pressure/eviction.h"
#include "base/done.h"
#include "base/executor.h"

namespace hekla::agent {

struct ImageGcOptions {
  int high_percent = 85, low_percent = 80;  // of the file system in use
  Nanos minimum_age = std::chrono::minutes(2);
};
Result<void> check_image_gc(const ImageGcOptions& options);

struct ImageGcPlan {
  std::int64_t usage_percent = 0;
  std::int64_t bytes_to_free = 0;
  std::vector<std::string> names;  // in the order they go
  std::int64_t bytes_freed = 0;    // what these come to
};
// An empty plan below the high threshold; above it, unused images by their last use until the
// low one is reached.
ImageGcPlan plan_image_gc(const ImageGcOptions& options, const SignalReading& disk,
                          const std::vector<StoredImage>& images,
                          const std::set<std::string>& in_use, WallTime now);

struct ImageGcHooks {
  std::function<void(Done<SignalReading>)> read_disk;
  std::function<void(Done<std::vector<StoredImage>>)> list;
  std::function<std::set<std::string>()> in_use;  // by id
  std::function<void(std::vector<std::string> names, Done<Removed>)> remove;
  std::function<void(const std::vector<StoredImage>&)> report;  // for the node's status
  std::function<void(const std::string& reason, const std::string& message)> event;  // a warning
};

// Every five minutes. Lives on the agent's executor.
class ImageGc {
 public:
  ImageGc(Executor& executor, ImageGcOptions options, ImageGcHooks hooks);
  ~ImageGc();
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::agent
