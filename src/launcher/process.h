// The user's command.
#pragma once

#include <string>
#include <vector>

namespace hekla::launcher {

struct Ended {
  int code = 0;       // 128 + signal when one ended it
  std::string error;  // why it could not be started
};

// Runs argv with this process' input and environment, its errors on its output, and waits for it.
// SIGTERM, SIGINT and SIGHUP are passed on.
Ended run_command(const std::vector<std::string>& argv);
// The same without output; the exit code alone.
int run_quietly(const std::vector<std::string>& argv);

}  // namespace hekla::launcher
