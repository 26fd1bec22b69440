#include "agent/pressure/usage.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/disk.h"

namespace hekla::agent {

Result<UsageReading> read_machine_usage() {
  UsageReading reading;
  reading.machine.cpu_ns = parse_busy_ns(TRY(read_file("/proc/stat")));
  reading.machine.memory_bytes = parse_used_memory(TRY(read_file("/proc/meminfo")));
  double seconds = 0;
  std::istringstream(TRY(read_file("/proc/uptime"))) >> seconds;
  reading.uptime = std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(seconds));
  return reading;
}

std::int64_t parse_busy_ns(std::string_view stat) {
  // cpu user nice system idle iowait irq softirq steal
  std::istringstream line{std::string(stat.substr(0, stat.find('\n')))};
  std::string name;
  std::int64_t value[8] = {};
  line >> name;
  for (std::int64_t& one : value) line >> one;
  const std::int64_t ticks = value[0] + value[1] + value[2] + value[5] + value[6] + value[7];
  return ticks * (1'000'000'000 / ::sysconf(_SC_CLK_TCK));
}

std::int64_t parse_used_memory(std::string_view meminfo) {
  std::istringstream lines{std::string(meminfo)};
  std::int64_t total = 0, available = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kilobytes = 0;
    words >> name >> kilobytes;
    if (name == "MemTotal:") total = kilobytes;
    if (name == "MemAvailable:") available = kilobytes;
  }
  return std::max<std::int64_t>(0, total - available) * 1024;
}

UsageMeter::Rate UsageMeter::rate(const std::string& id, WallTime started, const Point& now) {
  auto [found, fresh] = tracks_.try_emplace(id, Track{{started, 0}, now, now.at});
  Track& track = found->second;
  track.asked = now.at;
  if (!fresh && now.at - track.last.at >= kUsageWindow) {
    track.base = track.last;
    track.last = now;
  }
  const Nanos window = now.at - track.base.at;
  const std::int64_t used = now.cpu_ns - track.base.cpu_ns;
  if (window <= Nanos(0) || used <= 0) return {0, std::max(window, Nanos(0))};
  return {static_cast<std::int64_t>(static_cast<double>(used) * 1e9 /
                                    static_cast<double>(window.count())),
          window};
}

kube::NodeUsage UsageMeter::report(const std::vector<MeasuredPod>& pods,
                                   const UsageReading& reading, WallTime now) {
  kube::NodeUsage usage;
  usage.at = now;
  const Rate machine = rate("", now - reading.uptime, {now, reading.machine.cpu_ns});
  usage.cpu_nanocores = machine.nanocores;
  usage.window = machine.window;
  usage.memory_bytes = reading.machine.memory_bytes;
  std::size_t next = 0;
  for (const MeasuredPod& pod : pods) {
    kube::PodUsage one{pod.ns, pod.name, pod.uid, {}, {}};
    for (const MeasuredContainer& container : pod.containers) {
      const std::optional<CgroupUsage>& read = reading.cgroups[next++];
      if (!read) continue;
      const Rate cpu = rate(container.id, container.started, {now, read->cpu_ns});
      one.window = std::max(one.window, cpu.window);
      one.containers.push_back({container.name, cpu.nanocores, read->memory_bytes});
    }
    if (!one.containers.empty()) usage.pods.push_back(std::move(one));
  }
  std::erase_if(tracks_, [&](const auto& track) { return track.second.asked != now; });
  return usage;
}

}  // namespace hekla::agent
