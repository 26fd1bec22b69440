#include "agent/rootless/process_usage.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include "agent/os/user_namespace.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kSecondNs = 1'000'000'000;

std::vector<ProcessUse> read_processes() {
  std::vector<ProcessUse> out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name[0] < '0' || name[0] > '9') continue;
    Result<std::string> text = read_file("/proc/" + name + "/stat");
    if (!text) continue;
    if (std::optional<ProcessUse> one = parse_process(*text)) out.push_back(*one);
  }
  return out;
}

// The first process of the container with this control group ("/<instance>/<pod>/<container>"); 0
// when it has none.
pid_t first_process(const InstancePaths& paths, const std::string& cgroup) {
  const fs::path path(cgroup);
  const std::string id = path.filename(), pod = path.parent_path().filename();
  const std::string text =
      read_file(paths.pod(pod) + "/bundles/" + id.substr(0, 16) + "/pid").value_or("");
  pid_t pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  return pid;
}

}  // namespace

std::optional<ProcessUse> parse_process(std::string_view stat) {
  // pid (name) state parent ...; a name may hold anything.
  const std::size_t end = stat.rfind(')');
  ProcessUse use;
  if (end == std::string_view::npos ||
      std::from_chars(stat.data(), stat.data() + stat.size(), use.pid).ec != std::errc{})
    return std::nullopt;
  std::istringstream fields{std::string(stat.substr(end + 1))};
  std::string skipped;
  fields >> skipped >> use.parent;
  for (int i = 0; i < 9; ++i) fields >> skipped;
  for (int i = 0; i < 4; ++i) {  // in user and system mode, its own and its children's
    std::int64_t ticks = 0;
    fields >> ticks;
    use.cpu_ticks += ticks;
  }
  for (int i = 0; i < 6; ++i) fields >> skipped;
  fields >> use.resident_pages;
  return fields ? std::optional(use) : std::nullopt;
}

std::optional<CgroupUsage> usage_below(std::span<const ProcessUse> processes, pid_t first) {
  if (std::ranges::find(processes, first, &ProcessUse::pid) == processes.end()) return std::nullopt;
  std::set<pid_t> inside{first};
  // A child may have a smaller number than its parent: looked through until nobody is added.
  for (std::size_t known = 0; known != inside.size();) {
    known = inside.size();
    for (const ProcessUse& one : processes)
      if (inside.contains(one.parent)) inside.insert(one.pid);
  }
  CgroupUsage sum;
  for (const ProcessUse& one : processes) {
    if (!inside.contains(one.pid)) continue;
    sum.cpu_ns += one.cpu_ticks * (kSecondNs / ::sysconf(_SC_CLK_TCK));
    sum.memory_bytes += one.resident_pages * ::sysconf(_SC_PAGESIZE);
  }
  return sum;
}

std::vector<std::optional<CgroupUsage>> container_usages(const InstancePaths& paths,
                                                         std::span<const std::string> cgroups) {
  std::vector<std::optional<CgroupUsage>> out;
  std::vector<ProcessUse> processes;
  if (is_rootless()) processes = read_processes();
  for (const std::string& cgroup : cgroups)
    out.push_back(is_rootless() ? usage_below(processes, first_process(paths, cgroup))
                                : cgroup_usage(cgroup));
  return out;
}

}  // namespace hekla::agent
