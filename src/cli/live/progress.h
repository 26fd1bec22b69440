// The line that says what is waited for, once that takes longer than a second: drawn anew on a
// terminal, not there at all elsewhere, in CI or when quiet was asked for.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/loop.h"
#include "cli/flag.h"
#include "cli/live/screen.h"

namespace hekla::cli {

class Progress {
 public:
  // `what` is read every time: it may tell how far things are.
  Progress(bool quiet, std::function<std::string()> what);
  Progress(bool quiet, const std::string& what);
  // The line is gone.
  ~Progress();

 private:
  void draw();

  const bool live_;
  const MonoTime begin_;
  const std::function<std::string()> what_;
  std::uint64_t tick_ = 0;
  Screen screen_;
  std::unique_ptr<Loop> loop_;
};

Flag quiet_flag(bool& quiet);

}  // namespace hekla::cli
