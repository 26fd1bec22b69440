#include "agent/pressure/node_readings.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include "agent/os/file_descriptor.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

std::int64_t number_in(std::string_view text) {
  std::int64_t out = 0;
  text.remove_prefix(std::min(text.find_first_of("0123456789"), text.size()));
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

Result<void> read_disk(const std::string& path, const std::string& name, NodeReadings& out) {
  struct statvfs info{};
  if (::statvfs(path.c_str(), &info) != 0) return errno_error("look at the file system of " + path);
  const auto block = static_cast<std::int64_t>(info.f_frsize);
  out[name + ".available"] = {static_cast<std::int64_t>(info.f_bavail) * block,
                              static_cast<std::int64_t>(info.f_blocks) * block};
  // Some file systems count no files.
  if (info.f_files > 0)
    out[name + ".inodesFree"] = {static_cast<std::int64_t>(info.f_favail),
                                 static_cast<std::int64_t>(info.f_files)};
  return {};
}

}  // namespace

SignalReading parse_memory(std::string_view meminfo) {
  SignalReading out;
  std::istringstream lines{std::string(meminfo)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("MemTotal:")) out.capacity = number_in(line) * 1024;
    if (line.starts_with("MemAvailable:")) out.available = number_in(line) * 1024;
  }
  return out;
}

SignalReading parse_processes(std::string_view loadavg, std::string_view pid_max,
                              std::string_view threads_max) {
  std::size_t slash = loadavg.find('/');
  const std::int64_t running =
      slash == std::string_view::npos ? 0 : number_in(loadavg.substr(slash + 1));
  const std::int64_t most = std::min(number_in(pid_max), number_in(threads_max));
  return {std::max<std::int64_t>(0, most - running), most};
}

Result<NodeReadings> read_node(const std::string& data_dir, const std::string& image_dir) {
  NodeReadings out;
  out["memory.available"] = parse_memory(TRY(read_file("/proc/meminfo")));
  TRY(read_disk(data_dir, "nodefs", out));
  TRY(read_disk(image_dir, "imagefs", out));
  out["pid.available"] =
      parse_processes(TRY(read_file("/proc/loadavg")), TRY(read_file("/proc/sys/kernel/pid_max")),
                      TRY(read_file("/proc/sys/kernel/threads-max")));
  return out;
}

std::int64_t tree_bytes(const std::string& directory) {
  namespace fs = std::filesystem;
  struct stat top{};
  if (::lstat(directory.c_str(), &top) != 0) return 0;
  std::int64_t sum = top.st_blocks * 512;
  std::set<ino_t> linked;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(
           directory, fs::directory_options::skip_permission_denied, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    struct stat info{};
    if (::lstat(entry->path().c_str(), &info) != 0) continue;  // gone meanwhile
    if (info.st_dev != top.st_dev) {
      entry.disable_recursion_pending();
      continue;
    }
    if (S_ISREG(info.st_mode) && info.st_nlink > 1 && !linked.insert(info.st_ino).second) continue;
    sum += info.st_blocks * 512;
  }
  return sum;
}

}  // namespace hekla::agent
