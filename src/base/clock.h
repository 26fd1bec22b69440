// Time as an argument. Wall time is what objects carry; monotonic time is what timers use.
#pragma once

#include <chrono>
#include <memory>

namespace hekla {

using Nanos = std::chrono::nanoseconds;
using WallTime = std::chrono::time_point<std::chrono::system_clock, Nanos>;
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, Nanos>;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wall() const = 0;
  virtual MonoTime mono() const = 0;
};

// The machine's clocks.
const Clock& real_clock();

}  // namespace hekla
