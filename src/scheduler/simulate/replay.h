// Runs the sessions of a record again, one by one, on the input they had, and compares what they
// decide with what was decided then.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hekla::scheduler {

struct ReplayResult {
  std::size_t sessions = 0, binds = 0, evictions = 0;
  std::vector<std::string> differences;  // one line per session that decided otherwise
  std::vector<std::string> log;          // one line per session that decided something

  bool same() const { return differences.empty(); }
  std::string text(bool with_sessions) const;
};

// `configuration` replaces the recorded one unless it is empty. A line cut off at the end (the
// recorder died) is ignored.
Result<ReplayResult> replay(std::string_view record, std::string_view configuration);

}  // namespace hekla::scheduler
