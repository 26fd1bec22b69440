// `hekla up` in the background: a process of its own that outlives the command which started it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cli/status/running.h"

namespace hekla::cli {

struct DetachedStart {
  std::string executable, data_dir, log;  // the file that takes all it says
  std::vector<std::string> arguments;
  std::chrono::seconds timeout{60};
  std::function<bool()> gives_up;  // asked now and then
};

// Returns when it is ready. When it ends before, what it said last is the error.
Result<Running> start_detached(const DetachedStart& start);

}  // namespace hekla::cli
