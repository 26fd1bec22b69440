// For tests that wait for real threads, sockets and processes.
#pragma once

#include <chrono>
#include <thread>

namespace hekla {

// The longest that something which must happen may take, on a machine that is busy with other
// things.
constexpr std::chrono::seconds kPatience{120};

// Whether it comes true within that time.
template <class Condition>
bool soon(Condition holds) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace hekla
