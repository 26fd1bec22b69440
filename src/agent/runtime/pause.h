// The process that holds the PID namespace of a pod whose containers see each other's processes: it
// sleeps and lets the kernel reap what is left to it. Containers see it as process 1 and may be
// allowed to look into it: it is nobody, has no rights, no files, and an empty root. Lives in the
// pod's cgroup and dies with that.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace hekla::agent {

// Starts it in a new PID namespace, in `cgroup`, its pid written to `pid_file`. Blocks.
Result<void> start_pause(const std::string& cgroup, const std::string& pid_file);
// Ends it, if it runs.
void stop_pause(const std::string& pid_file);
// /proc/<pid>/ns/pid of the one started before.
Result<std::string> pause_namespace(const std::string& pid_file);

}  // namespace hekla::agent
