// Another program, run to its end by somebody who waits for it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace hekla {

struct CommandOutcome {
  int exit_code = 0;   // 128 + the signal's number when one ended it
  std::string output;  // what it wrote to standard output
};

// `argv[0]` is looked for in PATH unless it has a slash. `environment` (NAME=VALUE) is added to
// this process's own and wins; standard input is empty, standard error is ours. `not_found` when
// there is no such program, `timeout` when it took longer than `patience` (it is killed),
// `too_large` beyond 1 MiB of output.
Result<CommandOutcome> run_command(const std::vector<std::string>& argv,
                                   const std::vector<std::string>& environment,
                                   std::chrono::milliseconds patience);

}  // namespace hekla
