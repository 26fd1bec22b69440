#include "agent/os/instance.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <filesystem>

#include "agent/os/root_mount.h"
#include "agent/os/user_namespace.h"
#include "base/crypto.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr long kNsfsMagic = 0x6e736673;
constexpr long kCgroup2Magic = 0x63677270;

// Where the calling thread stands; threads of the agent's pool never leave once they have entered.
thread_local const InstanceNamespace* entered = nullptr;

Result<FileDescriptor> open_namespace(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error("open the namespace " + path);
  return fd;
}

bool is_cgroup2(const char* path) {
  struct statfs info{};
  return ::statfs(path, &info) == 0 && info.f_type == kCgroup2Magic;
}

// The pin must stand on a private mount: a mount namespace file may not propagate into itself.
Result<void> make_private_run_dir(const std::string& dir) {
  TRY(make_directories(dir));
  if (::mount(dir.c_str(), dir.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return errno_error("bind " + dir);
  if (::mount(nullptr, dir.c_str(), nullptr, MS_PRIVATE, nullptr) != 0)
    return errno_error("make " + dir + " private");
  return {};
}

// crun makes a directory per container in every directory below /sys/fs/cgroup, a cgroup or not: an
// empty tmpfs takes those that would otherwise end up on the host's, below its cgroup2 mount.
Result<void> hide_unified_cgroup() {
  constexpr const char* kUnified = "/sys/fs/cgroup/unified";
  if (is_cgroup2("/sys/fs/cgroup") || !is_cgroup2(kUnified)) return {};
  if (::umount2(kUnified, MNT_DETACH) != 0) return errno_error(std::string("unmount ") + kUnified);
  if (::mount("hekla-cgroup", kUnified, "tmpfs", MS_NODEV | MS_NOSUID | MS_NOEXEC, "size=1m") != 0)
    return errno_error(std::string("mount a tmpfs at ") + kUnified);
  return {};
}

// On the calling thread, which is left in the new namespace.
Result<FileDescriptor> make_mount_namespace() {
  if (::unshare(CLONE_NEWNS) != 0) return errno_error("make a mount namespace");
  TRY(make_root_a_slave());
  TRY(hide_unified_cgroup());
  return open_namespace("/proc/thread-self/ns/mnt");
}

// The thread is back in its own namespace afterwards. Linux 6.18 numbers namespaces in a range for
// each CPU, and refuses to pin one with a number below that of the namespace it is pinned in (as if
// it held itself): where that is not the machine's first one, another CPU may have to make it.
Result<FileDescriptor> make_pinned_namespace(const std::string& pin, int home) {
  cpu_set_t usual;
  if (::sched_getaffinity(0, sizeof usual, &usual) != 0) return errno_error("ask for the CPUs");
  int refused = EINVAL;
  FileDescriptor made;
  for (int cpu = -1; cpu < CPU_SETSIZE && refused == EINVAL; ++cpu) {
    if (cpu >= 0 && !CPU_ISSET(cpu, &usual)) continue;
    if (cpu >= 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ::sched_setaffinity(0, sizeof one, &one);
    }
    made = TRY(make_mount_namespace());
    if (::setns(home, CLONE_NEWNS) != 0) return errno_error("return to the host's mount namespace");
    const std::string source = "/proc/self/fd/" + std::to_string(made.get());
    refused = ::mount(source.c_str(), pin.c_str(), nullptr, MS_BIND, nullptr) == 0 ? 0 : errno;
  }
  ::sched_setaffinity(0, sizeof usual, &usual);
  if (refused != 0) return errno_error("pin the mount namespace at " + pin, refused);
  return made;
}

}  // namespace

InstancePaths instance_paths(const std::string& absolute_data_dir) {
  return InstancePaths{absolute_data_dir, sha256_hex(absolute_data_dir).substr(0, 8)};
}

std::string InstancePaths::mask_dir() const {
  return (is_rootless() ? data_dir : run_dir()) + "/mask";
}

bool is_pinned_namespace(const std::string& path) {
  struct statfs info{};
  return ::statfs(path.c_str(), &info) == 0 && info.f_type == kNsfsMagic;
}

Result<void> make_directories(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST)
    return {};  // most often all above it are there
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST)
      return errno_error("create the directory " + part);
    if (end == std::string::npos) return {};
  }
}

Result<std::unique_ptr<InstanceNamespace>> InstanceNamespace::open(const InstancePaths& paths) {
  auto instance = std::make_unique<InstanceNamespace>();
  instance->host_mounts_ = TRY(open_namespace("/proc/thread-self/ns/mnt"));
  instance->host_netns_ = TRY(open_namespace("/proc/thread-self/ns/net"));
  TRY(make_directories(paths.pods()));
  TRY(make_directories(paths.exits()));
  if (is_rootless()) {
    TRY(instance->open_held(paths));
    return instance;
  }
  if (is_pinned_namespace(paths.mount_pin())) {
    instance->namespace_ = TRY(open_namespace(paths.mount_pin()));
    return instance;
  }
  instance->is_new_ = true;
  // Remains of an earlier boot on a /run that is not a tmpfs mean nothing any more.
  std::error_code ignored;
  std::filesystem::remove_all(paths.run_dir(), ignored);
  TRY(make_private_run_dir(paths.run_dir()));
  for (const std::string& dir :
       {paths.netns_dir(), paths.crun_root(), paths.sockets(), paths.mask_dir()})
    TRY(make_directories(dir));
  FileDescriptor pin(::open(paths.mount_pin().c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0600));
  if (!pin) return errno_error("create " + paths.mount_pin());
  if (::unshare(CLONE_FS) != 0) return errno_error("unshare the file system context");
  instance->namespace_ =
      TRY(make_pinned_namespace(paths.mount_pin(), instance->host_mounts_.get()));
  return instance;
}

// The namespace that a rootless process has joined is nobody else's, and kept by its holder: no pin
// is needed.
Result<void> InstanceNamespace::open_held(const InstancePaths& paths) {
  namespace_ = TRY(open_namespace("/proc/thread-self/ns/mnt"));
  std::error_code ignored;
  is_new_ = !std::filesystem::exists(paths.run_dir(), ignored);
  if (is_new_) std::filesystem::remove_all(paths.mask_dir(), ignored);
  for (const std::string& dir :
       {paths.netns_dir(), paths.crun_root(), paths.sockets(), paths.mask_dir()})
    TRY(make_directories(dir));
  return {};
}

Result<void> InstanceNamespace::enter() const {
  if (entered == this) return {};
  if (::unshare(CLONE_FS) != 0) return errno_error("unshare the file system context");
  if (::setns(namespace_.get(), CLONE_NEWNS) != 0)
    return errno_error("enter the agent's mount namespace");
  entered = this;
  return {};
}

Result<void> InstanceNamespace::remove(const InstancePaths& paths) {
  if (::unshare(CLONE_FS) != 0) return errno_error("unshare the file system context");
  if (::setns(host_mounts_.get(), CLONE_NEWNS) != 0)
    return errno_error("return to the host's mount namespace");
  entered = nullptr;
  if (!is_rootless() && ::umount2(paths.mount_pin().c_str(), MNT_DETACH) != 0)
    return errno_error("unpin " + paths.mount_pin());
  if (!is_rootless() && ::umount2(paths.run_dir().c_str(), MNT_DETACH) != 0)
    return errno_error("unmount " + paths.run_dir());
  std::error_code error;
  std::filesystem::remove_all(paths.run_dir(), error);
  if (error) return fail(Code::internal, "remove " + paths.run_dir() + ": " + error.message());
  std::filesystem::remove_all(paths.mask_dir(), error);
  ::rmdir("/run/hekla");  // the last instance on the machine takes the parent with it
  return {};
}

}  // namespace hekla::agent
