#include "agent/os/root_mount.h"

#include <sys/mount.h>

#include <cerrno>
#include <sstream>

#include "agent/os/file_descriptor.h"

namespace hekla::agent {

std::string chroot_obstacle(const std::string& mountinfo) {
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, root, point;
    if (fields >> id >> parent >> device >> root >> point && point == "/") return {};
  }
  return "/ is no mount point, as in a plain chroot, where no container can be started";
}

Result<void> make_root_a_slave() {
  if (::mount(nullptr, "/", nullptr, MS_SLAVE | MS_REC, nullptr) == 0) return {};
  if (errno != EINVAL) return errno_error("make / a slave mount");
  return fail(Code::internal, chroot_obstacle("") + ": " + kChrootFix);
}

}  // namespace hekla::agent
