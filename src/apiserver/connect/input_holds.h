// Several streams share one upgraded connection: its input is held while any of them is behind.
#pragma once

#include <memory>
#include <mutex>

#include "base/check.h"
#include "net/http.h"

namespace hekla::apiserver {

class InputHolds {
 public:
  explicit InputHolds(std::shared_ptr<net::ResponseWriter> writer) : writer_(std::move(writer)) {}

  // One hold more or one less; any thread. Counted and said under one lock: a release that
  // overtakes the next hold would leave the connection open, the other way round closed for ever.
  void hold(bool hold) {
    std::lock_guard lock(mutex_);
    CHECK(hold || held_ > 0, "a hold is released once");
    const int before = held_;
    held_ += hold ? 1 : -1;
    if (before == 0 || held_ == 0) writer_->pause_input(hold);
  }

 private:
  const std::shared_ptr<net::ResponseWriter> writer_;
  std::mutex mutex_;
  int held_ = 0;
};

}  // namespace hekla::apiserver
