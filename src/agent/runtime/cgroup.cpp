#include "agent/runtime/cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <sstream>

#include "agent/os/file_descriptor.h"
#include "base/check.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr long kCgroup2Magic = 0x63677270;
constexpr long kTmpfsMagic = 0x01021994;
constexpr int kRemovalAttempts = 200;
constexpr int kRemovalPauseMs = 5;

bool is_unified(const std::string& path) {
  struct statfs info{};
  return ::statfs(path.c_str(), &info) == 0 && info.f_type == kCgroup2Magic;
}

void kill_members(const std::string& directory) {
  Result<std::string> members = read_file(directory + "/cgroup.procs");
  if (!members) return;
  std::istringstream lines(*members);
  for (pid_t pid = 0; lines >> pid;)
    if (pid > 1) ::kill(pid, SIGKILL);
}

Result<void> remove_directory(const std::string& directory) {
  std::error_code error;
  struct statfs info{};
  if (::statfs(directory.c_str(), &info) == 0 && info.f_type == kTmpfsMagic) {
    fs::remove_all(directory, error);  // no cgroup at all (instance.cpp, hide_unified_cgroup)
    return {};
  }
  for (const fs::directory_entry& child : fs::directory_iterator(directory, error))
    if (child.is_directory(error)) TRY(remove_directory(child.path()));
  // A dying process leaves its cgroup a moment after it has been reaped.
  for (int attempt = 0; attempt < kRemovalAttempts; ++attempt) {
    if (::rmdir(directory.c_str()) == 0 || errno == ENOENT) return {};
    if (errno != EBUSY) break;
    kill_members(directory);
    ::poll(nullptr, 0, kRemovalPauseMs);
  }
  return errno_error("remove the cgroup " + directory);
}

Result<void> write_value(const std::string& path, const std::string& text) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) < 0)
    return errno_error("write " + text + " to " + path);
  return {};
}

// The number behind `name` at the beginning of a line.
std::optional<std::int64_t> number_after(const Result<std::string>& text, std::string_view name) {
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  while (!rest.starts_with(name)) {
    std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(end + 1);
  }
  rest.remove_prefix(name.size());
  std::int64_t number = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), number).ec != std::errc{})
    return std::nullopt;
  return number;
}

}  // namespace

std::vector<std::string> cgroup_directories(const std::string& cgroup,
                                            const std::string& mount_root) {
  std::vector<std::string> found;
  std::error_code error;
  if (is_unified(mount_root)) {
    if (fs::exists(mount_root + cgroup, error)) found.push_back(mount_root + cgroup);
    return found;
  }
  for (const fs::directory_entry& hierarchy : fs::directory_iterator(mount_root, error)) {
    std::string directory = hierarchy.path().string() + cgroup;
    if (!hierarchy.is_symlink(error) && fs::exists(directory, error)) found.push_back(directory);
  }
  return found;
}

std::optional<CgroupUsage> cgroup_usage(const std::string& cgroup, const std::string& mount_root) {
  const bool unified = is_unified(mount_root);
  const std::string memory = mount_root + (unified ? "" : "/memory") + cgroup;
  std::optional<std::int64_t> cpu =
      unified ? number_after(read_file(mount_root + cgroup + "/cpu.stat"), "usage_usec ")
              : number_after(read_file(mount_root + "/cpuacct" + cgroup + "/cpuacct.usage"), "");
  std::optional<std::int64_t> used = number_after(
      read_file(memory + (unified ? "/memory.current" : "/memory.usage_in_bytes")), "");
  std::optional<std::int64_t> droppable = number_after(
      read_file(memory + "/memory.stat"), unified ? "inactive_file " : "total_inactive_file ");
  if (!cpu || !used) return std::nullopt;
  return CgroupUsage{unified ? *cpu * 1000 : *cpu,
                     std::max<std::int64_t>(0, *used - droppable.value_or(0))};
}

std::int64_t parse_oom_kills(std::string_view text) {
  constexpr std::string_view kName = "oom_kill ";
  std::size_t at = text.starts_with(kName) ? 0 : text.find("\noom_kill ");
  if (at == std::string_view::npos) return 0;
  if (at != 0 || !text.starts_with(kName)) ++at;
  text.remove_prefix(at + kName.size());
  std::int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

std::int64_t process_count(const std::string& cgroup, const std::string& mount_root) {
  for (const std::string& directory : cgroup_directories(cgroup, mount_root))
    if (auto count = number_after(read_file(directory + "/pids.current"), "")) return *count;
  return 0;
}

Result<void> limit_processes(const std::string& cgroup, std::int64_t most,
                             const std::string& mount_root) {
  for (const std::string& directory : cgroup_directories(cgroup, mount_root)) {
    const std::string path = directory + "/pids.max";
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    TRY(write_value(path, std::to_string(most)));
  }
  return {};
}

Result<void> limit_pod(const std::string& cgroup, const Limits& limits, bool only_raise,
                       const std::string& mount_root) {
  const std::int64_t shares = cpu_shares(limits);
  const std::string period = std::to_string(kCpuPeriodUs);
  const std::optional<std::int64_t> quota = cpu_quota_us(limits);
  auto amount = [](const std::optional<std::int64_t>& value, const char* none) {
    return value ? std::to_string(*value) : std::string(none);
  };
  struct Knob {
    const char* file;
    std::string text;
    std::optional<std::int64_t> value;  // absent: unlimited
  };
  // The files of version 1, then those of version 2; a hierarchy has what it controls.
  const Knob knobs[] = {
      {"cpu.shares", std::to_string(shares), shares},
      {"cpu.cfs_period_us", period, kCpuPeriodUs},
      {"cpu.cfs_quota_us", amount(quota, "-1"), quota},
      {"memory.limit_in_bytes", amount(limits.memory_limit_bytes, "-1"), limits.memory_limit_bytes},
      {"cpu.weight", std::to_string(cpu_weight(shares)), cpu_weight(shares)},
      {"cpu.max", amount(quota, "max") + " " + period, quota},
      {"memory.max", amount(limits.memory_limit_bytes, "max"), limits.memory_limit_bytes},
  };
  for (const std::string& directory : cgroup_directories(cgroup, mount_root))
    for (const Knob& knob : knobs) {
      const std::string path = directory + "/" + knob.file;
      Result<std::string> now = read_file(path);
      if (!now) continue;
      // Without a limit it says "max" or -1.
      std::optional<std::int64_t> has = number_after(now, "");
      const bool limited = has && *has >= 0;
      if (only_raise && knob.value && (!limited || *has >= *knob.value)) continue;
      TRY(write_value(path, knob.text));
    }
  return {};
}

std::int64_t oom_kills(const std::string& cgroup, const std::string& mount_root) {
  Result<std::string> text =
      is_unified(mount_root) ? read_file(mount_root + cgroup + "/memory.events")
                             : read_file(mount_root + "/memory" + cgroup + "/memory.oom_control");
  return text ? parse_oom_kills(*text) : 0;
}

void precede_moves(const std::string& mount_root) {
  std::istringstream lines(read_file("/proc/self/cgroup").value_or(""));
  for (std::string line;
       std::getline(lines, line);) {  // "8:pids:/path", "9:name=systemd:/path", "0::/path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string hierarchy = line.substr(first + 1, second - first - 1);
    if (hierarchy.starts_with("name=")) hierarchy.erase(0, std::string_view("name=").size());
    const std::string directory =
        mount_root + (hierarchy.empty() ? "" : "/" + hierarchy) + line.substr(second + 1);
    if (write_value(directory + "/cgroup.procs", std::to_string(::getpid()))) return;
  }
}

Result<void> remove_cgroup(const std::string& cgroup) {
  // Everything inside is killed: a wrong path here would take the machine down.
  CHECK(cgroup.starts_with("/hekla-") && cgroup.size() > std::string_view("/hekla-").size(),
        cgroup);
  for (const std::string& directory : cgroup_directories(cgroup)) TRY(remove_directory(directory));
  return {};
}

}  // namespace hekla::agent
