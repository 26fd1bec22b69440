// When each notebook was last used, by what passes through the gateway: whatever its server is,
// JupyterLab's terminals, VS Code and RStudio among them.
//
// A use is a change, a page that is opened, or a message through a WebSocket. What an open page
// asks for by itself is none: its polls are reads by script, and pings are no messages.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kube/client.h"

namespace hekla::gateway {

// Where the uses of one notebook are noted down. Thread-safe.
class UseMark {
 public:
  // The latest counts.
  void note(WallTime when);
  WallTime last() const { return WallTime(Nanos(last_.load(std::memory_order_relaxed))); }

 private:
  std::atomic<std::int64_t> last_ = 0;
};

// Thread-safe.
class Activity {
 public:
  std::shared_ptr<UseMark> mark(const kube::Key& notebook);
  // Notebooks that were used since the last call, and when. Those that nobody uses any more are
  // forgotten.
  std::vector<std::pair<kube::Key, WallTime>> take_new();

 private:
  struct Noted {
    std::shared_ptr<UseMark> mark = std::make_shared<UseMark>();
    WallTime taken{};
  };
  std::mutex mutex_;
  std::map<kube::Key, Noted> notebooks_;
};

// The annotation that the controller reads which stops idle notebooks.
kube::Write last_activity(const kube::Key& notebook, WallTime when);

}  // namespace hekla::gateway
