#include "agent/rootless/host_root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <sstream>
#include <utility>

#include "agent/os/file_descriptor.h"
#include "agent/os/instance.h"
#include "agent/os/user_namespace.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kDisks[] = {"ext2",     "ext3", "ext4",    "xfs",      "btrfs",
                                       "zfs",      "f2fs", "nfs",     "nfs4",     "9p",
                                       "virtiofs", "fuse", "overlay", "squashfs", "erofs"};
// Other disks that are part of a system; what is mounted elsewhere is somebody's data.
constexpr const char* kSystemPlaces[] = {"/usr", "/opt", "/var"};
// They separate things in overlayfs' options; no directory of a system has them.
constexpr const char* kSeparators = ",:\\";

bool lies_below(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

class Assembler {
 public:
  Assembler(const HostRoot& root, const MountTable& mounts) : root_(root), mounts_(mounts) {}

  // Merges a directory by hand: every name in it comes from the topmost layer that has it.
  Result<void> take_apart(const std::string& directory, const std::vector<std::string>& layers) {
    std::set<std::string> names;
    for (const std::string& layer : layers) {
      std::error_code error;
      for (const fs::directory_entry& entry :
           fs::directory_iterator(layer + directory + "/", error))
        names.insert(entry.path().filename());
    }
    for (const std::string& name : names)
      if (name.find_first_of(kSeparators) == std::string::npos)
        TRY(place(directory + "/" + name, layers));
    return {};
  }

 private:
  std::string upper(const std::string& path) const { return root_.bundle + "/upper" + path; }
  std::string shown(const std::string& path) const { return root_.bundle + "/rootfs" + path; }

  Result<void> place(const std::string& path, const std::vector<std::string>& layers) {
    std::vector<std::string> merged;  // the layers in which it is a directory
    bool there = false;
    mode_t mode = 0755;
    for (const std::string& layer : layers) {
      struct stat info{};
      const std::string copy = layer + path;
      if (::lstat(copy.c_str(), &info) != 0) continue;
      if (S_ISCHR(info.st_mode) && info.st_rdev == 0) break;  // a whiteout
      if (!S_ISDIR(info.st_mode)) {
        if (!there) return place_file(path, copy, info.st_mode);
        break;
      }
      if (!std::exchange(there, true)) mode = info.st_mode & 07777;
      if (layer.empty() && mounts_.is_foreign(path)) break;
      merged.push_back(layer);
      char value = 0;
      if (::getxattr(copy.c_str(), opaque_attribute(), &value, 1) == 1) break;
    }
    if (!there) return {};
    if (::mkdir(upper(path).c_str(), 0755) != 0 && errno != EEXIST)
      return errno_error("create " + upper(path));
    if (::chmod(upper(path).c_str(), mode) != 0) return errno_error("chmod " + upper(path));
    // The upper directory is all there is to see of an empty one.
    std::error_code error;
    if (merged.empty() || (merged.size() == 1 && fs::is_empty(merged[0] + path, error))) return {};
    if (merged.back().empty() && mounts_.is_cut(path)) return take_apart(path, merged);
    return mount_overlay(path, merged);
  }

  Result<void> place_file(const std::string& path, const std::string& source, mode_t mode) {
    if (S_ISLNK(mode)) {
      std::error_code error;
      const fs::path target = fs::read_symlink(source, error);
      if (::symlink(target.c_str(), upper(path).c_str()) != 0 && errno != EEXIST)
        return errno_error("create the link " + upper(path));
      return {};
    }
    if (!S_ISREG(mode) || ::access(source.c_str(), R_OK) != 0) return {};
    FileDescriptor file(::open(upper(path).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    if (!file) return errno_error("create " + upper(path));
    if (::mount(source.c_str(), shown(path).c_str(), nullptr, MS_BIND, nullptr) != 0)
      return errno_error("bind " + source);
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    if (::mount_setattr(AT_FDCWD, shown(path).c_str(), 0, &attributes, sizeof attributes) != 0)
      return errno_error("make " + shown(path) + " read-only");
    return {};
  }

  Result<void> mount_overlay(const std::string& path, const std::vector<std::string>& layers) {
    std::string lower;
    for (const std::string& layer : layers) lower += (lower.empty() ? "" : ":") + layer + path;
    const std::string number = std::to_string(overlays_++),
                      work = root_.bundle + "/work" + "/" + number;
    TRY(make_directories(work));
    const std::string options = "lowerdir=" + lower + ",upperdir=" + upper(path) +
                                ",workdir=" + work +
                                ",redirect_dir=nofollow,metacopy=off,index=off" + overlay_options();
    if (::mount("overlay", shown(path).c_str(), "overlay", MS_NODEV, options.c_str()) == 0)
      return {};
    return errno_error("mount an overlay of " + path +
                       " (which needs Linux 5.11 and a local disk below it)");
  }

  const HostRoot& root_;
  const MountTable& mounts_;
  int overlays_ = 0;
};

}  // namespace

MountTable::MountTable(std::string_view mountinfo, const std::vector<std::string>& kept_out) {
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    // id parent major:minor root point options [tags] - type source super-options
    std::istringstream fields(line);
    std::string word, point, type;
    fields >> word >> word >> word >> word >> point;
    while (fields >> word && word != "-") continue;
    fields >> type;
    const bool disk = std::ranges::find(kDisks, type) != std::end(kDisks) &&
                      std::ranges::any_of(kSystemPlaces, [&](const char* place) {
                        return point == place || lies_below(point, place);
                      });
    if (!point.empty() && point != "/") points_.emplace_back(point, disk);
  }
  for (const std::string& place : kept_out) points_.emplace_back(place, false);
}

bool MountTable::is_cut(std::string_view directory) const {
  return std::ranges::any_of(points_,
                             [&](const auto& point) { return lies_below(point.first, directory); });
}

bool MountTable::is_foreign(std::string_view directory) const {
  // The last mount at a place covers the others.
  for (auto point = points_.rbegin(); point != points_.rend(); ++point)
    if (point->first == directory) return !point->second;
  return false;
}

Result<void> make_parents(const std::string& bundle, const std::string& path) {
  std::error_code error;
  const std::string real = fs::weakly_canonical(fs::path(path).lexically_normal(), error);
  if (error || !real.starts_with('/')) return {};  // the runtime says what is wrong with it
  TRY(make_directories(bundle + "/upper", 0755));
  for (std::size_t end = real.find('/', 1); end != std::string::npos;
       end = real.find('/', end + 1)) {
    const std::string part = real.substr(0, end), copy = bundle + "/upper" + part;
    struct stat host{};
    const bool known = ::stat(part.c_str(), &host) == 0;
    if (known && !S_ISDIR(host.st_mode)) return {};
    if (::mkdir(copy.c_str(), 0755) != 0 && errno != EEXIST) return errno_error("create " + copy);
    if (known && ::chmod(copy.c_str(), host.st_mode & 07777) != 0)
      return errno_error("chmod " + copy);
  }
  return {};
}

Result<void> mount_host_root(const HostRoot& root) {
  const std::string upper = root.bundle + "/upper", rootfs = root.bundle + "/rootfs";
  TRY(make_directories(upper, 0755));
  TRY(make_directories(root.bundle + "/work"));
  TRY(make_directories(rootfs, 0755));
  if (::chmod(upper.c_str(), 0755) != 0) return errno_error("chmod " + upper);
  if (::mount(upper.c_str(), rootfs.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return errno_error("bind " + upper);
  // A directory that is a link somewhere lies where that leads.
  std::vector<std::string> kept_out = {root.data_dir};
  for (const std::string& layer : root.layers) kept_out.push_back(layer);
  for (std::string& place : kept_out) {
    std::error_code error;
    if (fs::path real = fs::canonical(place, error); !error) place = real;
  }
  const MountTable mounts(TRY(read_file("/proc/thread-self/mountinfo")), kept_out);
  std::vector<std::string> layers = root.layers;
  layers.emplace_back();  // the machine's own
  return Assembler(root, mounts).take_apart("", layers);
}

}  // namespace hekla::agent
