#include "agent/image/host_image.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "agent/runtime/files.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr long kTmpfsMagic = 0x01021994;

// Emptied for every pod; the pod sees a writable directory with the host's mode.
constexpr const char* kHiddenDirectories[] = {
    "/root",           "/home",           "/run",       "/tmp",           "/var/tmp",
    "/etc/ssh",        "/etc/kubernetes", "/etc/hekla", "/var/lib/hekla", "/var/backups",
    "/etc/ssl/private"};
constexpr const char* kHiddenFiles[] = {"/etc/shadow", "/etc/shadow-", "/etc/gshadow",
                                        "/etc/gshadow-"};
// Stand-ins for the files every pod has mounted over them; the host's may be links out of the
// picture.
constexpr const char* kReplacedFiles[] = {"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"};
constexpr const char* kDiskFileSystems[] = {"ext2",     "ext3",     "ext4", "xfs",  "btrfs",
                                            "zfs",      "f2fs",     "nfs",  "nfs4", "9p",
                                            "virtiofs", "squashfs", "erofs"};

bool is_below(std::string_view path, std::string_view directory) {
  return path == directory || (path.starts_with(directory) && path.size() > directory.size() &&
                               path[directory.size()] == '/');
}

// A directory above it is hidden already, and with it everything inside.
bool is_inside_hidden(const std::string& mask, const std::string& path) {
  char value[2];
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    if (::getxattr((mask + path.substr(0, end)).c_str(), "trusted.overlay.opaque", value, 1) == 1)
      return true;
  return false;
}

// The directories above `path` in the mask, with the host's mode and owner: the topmost layer of a
// merged directory decides what it looks like.
Result<void> copy_parents(const std::string& mask, const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    struct stat host {};
    if (::stat(part.c_str(), &host) != 0) return errno_error("look at " + part);
    std::string copy = mask + part;
    if (::mkdir(copy.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;
      return errno_error("create " + copy);
    }
    if (::chown(copy.c_str(), host.st_uid, host.st_gid) != 0) return errno_error("chown " + copy);
    if (::chmod(copy.c_str(), host.st_mode & 07777) != 0) return errno_error("chmod " + copy);
  }
  return {};
}

Result<void> hide_directory(const std::string& mask, const std::string& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  struct stat host {};
  if (error || ::stat(real.c_str(), &host) != 0 || !S_ISDIR(host.st_mode)) return {};
  if (is_inside_hidden(mask, real)) return {};
  TRY(copy_parents(mask, real));
  std::string copy = mask + real.string();
  if (::mkdir(copy.c_str(), 0700) != 0 && errno != EEXIST) return errno_error("create " + copy);
  if (::setxattr(copy.c_str(), "trusted.overlay.opaque", "y", 1, 0) != 0)
    return errno_error("make " + copy + " opaque");
  if (::chown(copy.c_str(), host.st_uid, host.st_gid) != 0) return errno_error("chown " + copy);
  if (::chmod(copy.c_str(), host.st_mode & 07777) != 0) return errno_error("chmod " + copy);
  return {};
}

Result<void> hide_file(const std::string& mask, const std::string& path) {
  struct stat host {};
  if (::lstat(path.c_str(), &host) != 0 || is_inside_hidden(mask, path)) return {};
  TRY(copy_parents(mask, path));
  std::string copy = mask + path;
  if (::mknod(copy.c_str(), S_IFCHR, makedev(0, 0)) != 0 && errno != EEXIST)
    return errno_error("create the whiteout " + copy);
  return {};
}

}  // namespace

Result<void> HostImage::prepare() {
  const std::string mask = paths_.mask_dir();
  struct statfs info {};
  if (::statfs(mask.c_str(), &info) != 0) return errno_error("look at " + mask);
  if (info.f_type != kTmpfsMagic &&
      ::mount("hekla-mask", mask.c_str(), "tmpfs", MS_NODEV | MS_NOSUID, "mode=755,size=4m") != 0)
    return errno_error("mount a tmpfs at " + mask);
  for (const char* path : kHiddenDirectories) TRY(hide_directory(mask, path));
  TRY(hide_directory(mask, paths_.data_dir));
  for (const char* path : kHiddenFiles) TRY(hide_file(mask, path));
  for (const std::string& path : hidden_paths_) {
    std::error_code error;
    if (fs::is_directory(path, error))
      TRY(hide_directory(mask, path));
    else
      TRY(hide_file(mask, path));
  }
  for (const char* path : kReplacedFiles) TRY(replace_file(mask + path, "", 0644));
  return {};
}

Result<std::string> HostImage::mount_root(const std::string& bundle) {
  std::string upper = bundle + "/upper", work = bundle + "/work", root = bundle + "/rootfs";
  TRY(make_directories(upper, 0755));
  if (::chmod(upper.c_str(), 0755) != 0) return errno_error("chmod " + upper);
  TRY(make_directories(work));
  TRY(make_directories(root, 0755));
  std::string options =
      "lowerdir=" + paths_.mask_dir() + ":/,upperdir=" + upper + ",workdir=" + work;
  if (::mount("overlay", root.c_str(), "overlay", 0, options.c_str()) != 0)
    return errno_error("mount an overlay of / at " + root);
  return root;
}

Result<void> HostImage::unmount_root(const std::string& bundle) {
  std::string root = bundle + "/rootfs";
  if (::umount2(root.c_str(), MNT_DETACH) != 0 && errno != EINVAL && errno != ENOENT)
    return errno_error("unmount " + root);
  return {};
}

std::vector<OciMount> HostImage::extra_mounts() const {
  std::vector<std::string> hidden(std::begin(kHiddenDirectories), std::end(kHiddenDirectories));
  hidden.insert(hidden.end(), hidden_paths_.begin(), hidden_paths_.end());
  hidden.push_back(paths_.data_dir);
  std::vector<OciMount> mounts;
  Result<std::string> mountinfo = read_file("/proc/thread-self/mountinfo");
  if (!mountinfo) return mounts;
  for (const std::string& point : mount_points_to_bind(*mountinfo, hidden))
    mounts.push_back({point, "none", point, {"bind", "ro", "nosuid", "nodev"}});
  return mounts;
}

std::vector<std::string> mount_points_to_bind(std::string_view mountinfo,
                                              const std::vector<std::string>& hidden) {
  std::vector<std::string> found;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    // id parent major:minor root point options [tags] - type source super-options
    std::istringstream fields(line);
    std::string id, parent, device, root, point, word, type;
    fields >> id >> parent >> device >> root >> point;
    while (fields >> word && word != "-") continue;
    fields >> type;
    if (point.empty() || point == "/" ||
        std::ranges::find(kDiskFileSystems, type) == std::end(kDiskFileSystems))
      continue;
    bool out = point.starts_with("/boot") || point.find('\\') != std::string::npos ||
               std::ranges::any_of(hidden, [&](const auto& dir) { return is_below(point, dir); });
    if (!out && std::ranges::find(found, point) == found.end()) found.push_back(point);
  }
  return found;
}

}  // namespace hekla::agent
