// Usage of containers where no control group counts it: the sum over their processes, from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/os/instance.h"
#include "agent/runtime/cgroup.h"

namespace hekla::agent {

struct ProcessUse {
  pid_t pid = 0, parent = 0;
  std::int64_t cpu_ticks = 0;  // with those of its children that have ended
  std::int64_t resident_pages = 0;
};

// Pure: the text of /proc/<pid>/stat.
std::optional<ProcessUse> parse_process(std::string_view stat);
// Pure: of a process and all that descend from it; nothing when it is not there.
std::optional<CgroupUsage> usage_below(std::span<const ProcessUse> processes, pid_t first);

// Of containers, named by their control groups: those groups', or without root their processes'. In
// order; blocks.
std::vector<std::optional<CgroupUsage>> container_usages(const InstancePaths& paths,
                                                         std::span<const std::string> cgroups);

}  // namespace hekla::agent
