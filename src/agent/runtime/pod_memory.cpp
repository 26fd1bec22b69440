#include "agent/runtime/pod_memory.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "agent/os/file_descriptor.h"
#include "agent/os/instance.h"
#include "base/check.h"

namespace hekla::agent {

Result<void> make_ipc_namespace(const std::string& pin) {
  if (is_pinned_namespace(pin)) return {};
  TRY(make_directories(std::filesystem::path(pin).parent_path()));
  FileDescriptor home(::open("/proc/thread-self/ns/ipc", O_RDONLY | O_CLOEXEC));
  FileDescriptor file(::open(pin.c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0600));
  if (!home || !file) return errno_error("create " + pin);
  if (::unshare(CLONE_NEWIPC) != 0) return errno_error("make an IPC namespace");
  const bool pinned =
      ::mount("/proc/thread-self/ns/ipc", pin.c_str(), nullptr, MS_BIND, nullptr) == 0;
  const int why = errno;
  CHECK(::setns(home.get(), CLONE_NEWIPC) == 0, "return to the host's IPC namespace");
  if (!pinned) return errno_error("pin the IPC namespace at " + pin, why);
  return {};
}

Result<void> remove_ipc_namespace(const std::string& pin) {
  if (::umount2(pin.c_str(), MNT_DETACH) != 0 && errno != EINVAL && errno != ENOENT)
    return errno_error("unpin the IPC namespace " + pin);
  if (::unlink(pin.c_str()) != 0 && errno != ENOENT) return errno_error("remove " + pin);
  return {};
}

Result<void> mount_shared_memory(const std::string& directory) {
  TRY(make_directories(directory, 0755));
  struct stat here{}, above{};
  if (::stat(directory.c_str(), &here) != 0 || ::stat((directory + "/..").c_str(), &above) != 0)
    return errno_error("look at " + directory);
  if (here.st_dev != above.st_dev) return {};
  if (::mount("shm", directory.c_str(), "tmpfs", MS_NOSUID | MS_NOEXEC | MS_NODEV,
              "mode=1777,size=65536k") != 0)
    return errno_error("mount a tmpfs at " + directory);
  return {};
}

Result<void> unmount_shared_memory(const std::string& directory) {
  if (::umount2(directory.c_str(), MNT_DETACH) != 0 && errno != EINVAL && errno != ENOENT)
    return errno_error("unmount " + directory);
  if (::rmdir(directory.c_str()) != 0 && errno != ENOENT) return errno_error("remove " + directory);
  return {};
}

}  // namespace hekla::agent
