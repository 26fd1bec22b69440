// The last lines each component of this process has logged, for whoever wants to read them later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace hekla {

// Besides stderr, every line at info and above goes there, whatever the level. At most one, set
// before other threads log.
using LogCapture = std::function<void(std::string_view component, std::string_view line)>;
void set_log_capture(LogCapture capture);

// Takes the lines in place of stderr, one at a time and without their ends; null: stderr again. No
// call is under way any more when this returns.
void set_log_writer(std::function<void(std::string_view line)> writer);

struct LogLine {
  std::uint64_t number = 0;  // counts all lines of the ring, from 1
  WallTime at;
  std::string text;
};

// Thread-safe.
class LogRing {
 public:
  explicit LogRing(std::size_t lines_per_component) : limit_(lines_per_component) {}

  void add(std::string_view component, WallTime at, std::string_view text);
  // The lines of these components behind line `after`, in order.
  std::vector<LogLine> read(const std::vector<std::string>& components, std::uint64_t after) const;

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::map<std::string, std::deque<LogLine>, std::less<>> lines_;
};

}  // namespace hekla
