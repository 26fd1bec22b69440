#include "agent/os/user_namespace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <sstream>

#include "base/disk.h"
#include "base/environment.h"

namespace hekla::agent {

bool maps_one_user(std::string_view uid_map) {
  std::istringstream lines{std::string(uid_map)};
  std::uint64_t inside = 0, outside = 0, count = 0;
  if (!(lines >> inside >> outside >> count)) return false;
  std::uint64_t more = 0;
  return count == 1 && !(lines >> more);
}

bool is_rootless() {
  if (::geteuid() != 0) return false;  // not there yet, if ever
  static const bool one_user = maps_one_user(read_file("/proc/self/uid_map").value_or(""));
  return one_user;
}

const char* opaque_attribute() {
  return is_rootless() ? "user.overlay.opaque" : "trusted.overlay.opaque";
}

const char* overlay_options() { return is_rootless() ? ",userxattr" : ""; }

std::string rootless_home() {
  if (!is_rootless()) return {};
  struct stat info{};
  std::string path = environment_variable("HOME");
  return path.starts_with('/') && ::stat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid()
             ? path
             : "";
}

int change_owner(int directory, const char* path, uid_t uid, gid_t gid, int flags) {
  return is_rootless() ? 0 : ::fchownat(directory, path, uid, gid, flags);
}

}  // namespace hekla::agent
