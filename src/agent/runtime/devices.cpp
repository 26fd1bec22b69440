#include "agent/runtime/devices.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
// Made by the runtime, or mounted.
constexpr const char* kOwn[] = {"console", "core", "fd",      "full", "mqueue", "null",
                                "ptmx",    "pts",  "random",  "shm",  "stderr", "stdin",
                                "stdout",  "tty",  "urandom", "zero"};

}  // namespace

std::optional<OciDevice> read_device(const std::string& path, const std::string& name) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  if (!S_ISCHR(info.st_mode) && !S_ISBLK(info.st_mode)) return std::nullopt;
  return OciDevice{name,
                   S_ISCHR(info.st_mode) ? 'c' : 'b',
                   major(info.st_rdev),
                   minor(info.st_rdev),
                   info.st_mode & 07777,
                   info.st_uid,
                   info.st_gid};
}

std::vector<OciDevice> host_devices(const std::string& directory) {
  std::vector<OciDevice> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (std::ranges::find(kOwn, name) != std::end(kOwn) || name.starts_with('.')) continue;
    if (entry.is_symlink(error)) continue;
    if (auto device = read_device(entry.path(), "/dev/" + name)) {
      out.push_back(std::move(*device));
      continue;
    }
    // One level and those below it: /dev/dri, /dev/nvidia-caps, /dev/bus/usb.
    for (const auto& below : fs::recursive_directory_iterator(
             entry.path(), fs::directory_options::skip_permission_denied, error)) {
      if (below.is_symlink(error)) continue;
      const std::string path = "/dev/" + fs::relative(below.path(), directory, error).string();
      if (auto device = read_device(below.path(), path)) out.push_back(std::move(*device));
    }
  }
  std::ranges::sort(out, {}, &OciDevice::path);
  return out;
}

}  // namespace hekla::agent
