// The control groups of containers, in cgroup v1, v2 and the hybrid of both. crun makes and limits
// them; we read counters and remove what it leaves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/runtime/bundle.h"
#include "base/result.h"

namespace hekla::agent {

// The directories of `cgroup` ("/hekla-1234/uid") in every mounted hierarchy below `mount_root`.
std::vector<std::string> cgroup_directories(const std::string& cgroup,
                                            const std::string& mount_root = "/sys/fs/cgroup");

struct CgroupUsage {
  std::int64_t cpu_ns = 0;        // since it was made
  std::int64_t memory_bytes = 0;  // without file pages that can be dropped at once
};
// Empty when the cgroup is gone or is not accounted.
std::optional<CgroupUsage> cgroup_usage(const std::string& cgroup,
                                        const std::string& mount_root = "/sys/fs/cgroup");

// The processes and threads in it; 0 when it cannot be read.
std::int64_t process_count(const std::string& cgroup,
                           const std::string& mount_root = "/sys/fs/cgroup");
// At most so many in it and all below it. Where nobody counts them, nothing is limited.
Result<void> limit_processes(const std::string& cgroup, std::int64_t most,
                             const std::string& mount_root = "/sys/fs/cgroup");

// The limits of a pod's whole cgroup; its containers' own lie below. `only_raise` leaves alone
// whatever would become less, for as long as a container may still have more than that.
Result<void> limit_pod(const std::string& cgroup, const Limits& limits, bool only_raise,
                       const std::string& mount_root = "/sys/fs/cgroup");

// How often the kernel's OOM killer has struck in the cgroup; 0 when it cannot be read.
std::int64_t oom_kills(const std::string& cgroup, const std::string& mount_root = "/sys/fs/cgroup");
// The number in "oom_kill N" of memory.oom_control (v1) or memory.events (v2).
std::int64_t parse_oom_kills(std::string_view text);

// The first move of a process from one cgroup to another waits for all CPUs to have passed a quiet
// state (RCU), 6 to 16 ms; those that follow at once do not. This move of ourselves to where we are
// takes the wait upon itself, and the runtime, which moves each container's first process, finds it
// over. Blocks; a failure costs that time and no more.
void precede_moves(const std::string& mount_root = "/sys/fs/cgroup");

// Kills what is left inside and removes the cgroup with its children everywhere. Missing is fine.
Result<void> remove_cgroup(const std::string& cgroup);

}  // namespace hekla::agent
