// CPU and memory in use by pods and node, from the kernel's counters: CPU as a rate between two
// readings, the older at least kUsageWindow old, or the container's whole life when there is none.
// The counters are read only when somebody asks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/runtime/cgroup.h"
#include "base/clock.h"
#include "kube/pod_streams.h"

namespace hekla::agent {

inline constexpr std::chrono::seconds kUsageWindow{15};

struct MeasuredContainer {
  std::string name, id;
  WallTime started;
};
struct MeasuredPod {
  std::string ns, name, uid;
  std::vector<MeasuredContainer> containers;
};

struct UsageReading {
  CgroupUsage machine;
  Nanos uptime{};
  std::vector<std::optional<CgroupUsage>> cgroups;  // one per container, in order
};
// The machine's part. Blocks.
Result<UsageReading> read_machine_usage();
// Busy time of all processors in /proc/stat, and memory in use in /proc/meminfo.
std::int64_t parse_busy_ns(std::string_view stat);
std::int64_t parse_used_memory(std::string_view meminfo);

class UsageMeter {
 public:
  // Pods without a readable container are left out.
  kube::NodeUsage report(const std::vector<MeasuredPod>& pods, const UsageReading& reading,
                         WallTime now);

 private:
  struct Point {
    WallTime at;
    std::int64_t cpu_ns = 0;
  };
  struct Track {
    Point base, last;
    WallTime asked;
  };
  struct Rate {
    std::int64_t nanocores = 0;
    Nanos window{};
  };
  Rate rate(const std::string& id, WallTime started, const Point& now);
  std::map<std::string, Track> tracks_;  // by container id; "" is the machine
};

}  // namespace hekla::agent
