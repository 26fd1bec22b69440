// How likely the kernel ends a process when memory runs out: from -1000 (never) to 1000 (first).
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/result.h"

namespace hekla::agent {

// The kubelet's own score: after everything that it runs.
inline constexpr int kNodeOomScore = -999;

std::optional<int> oom_score(pid_t pid);
// Without CAP_SYS_RESOURCE (Hekla itself in a container) a score can be raised, not lowered: the
// process then keeps the one it has, and that is no error.
Result<void> set_oom_score(pid_t pid, int score);

}  // namespace hekla::agent
