#include "agent/image/host_image.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "agent/image/masked_paths.h"
#include "agent/os/files.h"
#include "agent/os/user_namespace.h"
#include "agent/rootless/host_root.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr long kTmpfsMagic = 0x01021994;

// Stand-ins for the files every pod has mounted over them; the host's may be links out of the
// picture.
constexpr const char* kReplacedFiles[] = {"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"};
// Directories of the host's root become the pod's own where the mask has a copy of them.
constexpr const char* kOwnedDirectories[] = {"/var/cache",    "/var/lib",   "/var/log",
                                             "/var/spool",    "/usr/local", "/usr/local/bin",
                                             "/usr/local/lib"};
constexpr const char* kCoverSize = "size=64m";
constexpr std::chrono::minutes kMaskAge{1};
constexpr const char* kDiskFileSystems[] = {"ext2",     "ext3",     "ext4", "xfs",  "btrfs",
                                            "zfs",      "f2fs",     "nfs",  "nfs4", "9p",
                                            "virtiofs", "squashfs", "erofs"};

// Other disks that are part of a system; what is mounted elsewhere is somebody's data.
constexpr const char* kSystemPlaces[] = {"/usr", "/opt", "/var"};

bool is_below(std::string_view path, std::string_view directory) {
  return path == directory || (path.starts_with(directory) && path.size() > directory.size() &&
                               path[directory.size()] == '/');
}

bool is_whiteout(const std::string& copy) {
  struct stat info{};
  return ::lstat(copy.c_str(), &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == 0;
}

// A directory above it is hidden already, and with it everything inside.
bool is_inside_hidden(const std::string& mask, const std::string& path) {
  char value[2];
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    const std::string copy = mask + path.substr(0, end);
    if (is_whiteout(copy) || ::getxattr(copy.c_str(), opaque_attribute(), value, 1) == 1)
      return true;
  }
  return false;
}

// The directories above `path` in the mask, with the host's mode and owner: the topmost layer of a
// merged directory decides what it looks like.
Result<void> copy_parents(const std::string& mask, const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    struct stat host{};
    if (::stat(part.c_str(), &host) != 0) return errno_error("look at " + part);
    std::string copy = mask + part;
    if (::mkdir(copy.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;
      return errno_error("create " + copy);
    }
    if (change_owner(AT_FDCWD, copy.c_str(), host.st_uid, host.st_gid) != 0)
      return errno_error("chown " + copy);
    if (::chmod(copy.c_str(), host.st_mode & 07777) != 0) return errno_error("chmod " + copy);
  }
  return {};
}

// A name that need not exist: what is put there later is hidden as well.
Result<void> hide_name(const std::string& mask, const fs::path& path) {
  std::error_code error;
  const fs::path parent = fs::canonical(path.parent_path(), error);
  if (error || !fs::is_directory(parent, error)) return {};
  const std::string real = parent / path.filename();
  if (is_inside_hidden(mask, real)) return {};
  TRY(copy_parents(mask, real));
  const std::string copy = mask + real;
  if (::mknod(copy.c_str(), S_IFCHR, makedev(0, 0)) != 0 && errno != EEXIST)
    return errno_error("create the whiteout " + copy);
  return {};
}

Result<void> hide_directory(const std::string& mask, const std::string& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (error) return hide_name(mask, path);
  struct stat host{};
  if (::stat(real.c_str(), &host) != 0 || !S_ISDIR(host.st_mode)) return {};
  if (is_inside_hidden(mask, real) || is_whiteout(mask + real.string())) return {};
  TRY(copy_parents(mask, real));
  std::string copy = mask + real.string();
  if (::mkdir(copy.c_str(), 0700) != 0 && errno != EEXIST) return errno_error("create " + copy);
  if (::setxattr(copy.c_str(), opaque_attribute(), "y", 1, 0) != 0)
    return errno_error("make " + copy + " opaque");
  if (change_owner(AT_FDCWD, copy.c_str(), host.st_uid, host.st_gid) != 0)
    return errno_error("chown " + copy);
  if (::chmod(copy.c_str(), host.st_mode & 07777) != 0) return errno_error("chmod " + copy);
  return {};
}

Result<void> hide_file(const std::string& mask, const std::string& path) {
  TRY(hide_name(mask, path));
  std::error_code error;
  if (!fs::is_symlink(path, error)) return {};
  const fs::path target = fs::canonical(path, error);
  return error ? Result<void>() : hide_name(mask, target);
}

// ":" and the directory that a root has at `path`, by its own links; empty when there is nothing in
// it.
Result<std::string> layer_of_root(const std::string& root, const std::string& path) {
  FileDescriptor top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return errno_error("open " + root);
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  FileDescriptor found(
      static_cast<int>(::syscall(SYS_openat2, top.get(), path.c_str(), &how, sizeof how)));
  if (!found && (errno == ENOENT || errno == ENOTDIR)) return std::string();
  if (!found) return errno_error("open " + path + " in " + root);
  std::error_code error;
  const fs::path real = fs::read_symlink("/proc/self/fd/" + std::to_string(found.get()), error);
  if (error || fs::is_empty(real, error)) return std::string();
  if (real.string().find_first_of(",:\\") != std::string::npos)
    return fail(Code::invalid, real.string() + " must not contain a comma, colon or backslash");
  return ":" + real.string();
}

struct MountLine {
  std::string point, type;
};

std::vector<MountLine> mount_lines(std::string_view mountinfo) {
  std::vector<MountLine> found;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    // id parent major:minor root point options [tags] - type source super-options
    std::istringstream fields(line);
    std::string id, parent, device, root, word;
    MountLine mount;
    fields >> id >> parent >> device >> root >> mount.point;
    while (fields >> word && word != "-") continue;
    fields >> mount.type;
    if (!mount.point.empty()) found.push_back(std::move(mount));
  }
  return found;
}

}  // namespace

// An ordinary user's pods cannot read what he cannot.
HostImage::Masked HostImage::find_masked() const {
  Masked out{masked_directories(), masked_files()};
  for (std::string& home : home_directories(read_file("/etc/passwd").value_or("")))
    out.directories.push_back(std::move(home));
  out.directories.push_back(paths_.data_dir);
  for (const std::string& path : hidden_paths_) {
    std::error_code error;
    (fs::is_directory(path, error) ? out.directories : out.files).push_back(path);
  }
  if (is_rootless()) return out;
  const std::vector<std::string> known = out.directories;
  for (const char* directory : {"/etc", "/var/lib"}) {
    PrivatePaths found = private_paths(directory, known);
    for (std::string& path : found.directories) out.directories.push_back(std::move(path));
    for (std::string& path : found.files) out.files.push_back(std::move(path));
  }
  return out;
}

Result<void> HostImage::renew_mask() {
  std::lock_guard lock(mutex_);
  const MonoTime now = clock_.mono();
  if (masked_at_ && now - *masked_at_ < kMaskAge) return {};
  const std::string mask = paths_.mask_dir();
  for (const std::string& name : foreign_names("/")) TRY(hide_name(mask, "/" + name));
  masked_ = find_masked();
  for (const std::string& path : masked_.directories) TRY(hide_directory(mask, path));
  for (const std::string& path : masked_.files) TRY(hide_file(mask, path));
  masked_at_ = now;
  return {};
}

Result<void> HostImage::prepare() {
  const std::string mask = paths_.mask_dir();
  struct statfs info{};
  if (::statfs(mask.c_str(), &info) != 0) return errno_error("look at " + mask);
  if (info.f_type != kTmpfsMagic && !is_rootless() &&
      ::mount("hekla-mask", mask.c_str(), "tmpfs", MS_NODEV | MS_NOSUID, "mode=755,size=16m") != 0)
    return errno_error("mount a tmpfs at " + mask);
  TRY(renew_mask());
  for (const char* path : kReplacedFiles) TRY(replace_file(mask + path, "", 0644));
  if (is_rootless())
    for (const char* path : kOwnedDirectories)
      if (std::error_code error; fs::is_directory(path, error))
        TRY(copy_parents(mask, std::string(path) + "/"));
  return {};
}

Result<std::vector<OciMount>> HostImage::mount_root(const std::string& bundle,
                                                    const std::vector<LaidDirectory>& files) {
  TRY(renew_mask());
  if (is_rootless()) return assemble_root(bundle, files);
  std::string upper = bundle + "/upper", work = bundle + "/work", root = bundle + "/rootfs";
  TRY(make_directories(upper, 0755));
  if (::chmod(upper.c_str(), 0755) != 0) return errno_error("chmod " + upper);
  TRY(make_directories(work));
  TRY(make_directories(root, 0755));
  std::string lower = paths_.mask_dir() + ":/";
  for (const LaidDirectory& one : files)
    if (one.destination == "/") {
      // It lies inside / itself, so that one overlay cannot have both.
      if (lower.ends_with(":/")) lower = TRY(mount_base(bundle));
      lower = one.source + ":" + lower;
    }
  const std::string options = "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work;
  if (::mount("overlay", root.c_str(), "overlay", 0, options.c_str()) != 0)
    return errno_error("mount an overlay of / at " + root);
  return lay_all(bundle, files);
}

Result<std::vector<OciMount>> HostImage::assemble_root(const std::string& bundle,
                                                       const std::vector<LaidDirectory>& files) {
  HostRoot root{bundle, {paths_.mask_dir()}, paths_.data_dir};
  for (const LaidDirectory& one : files) {
    if (one.destination == "/")
      root.layers.insert(root.layers.begin(), one.source);
    else
      TRY(make_parents(bundle, one.destination));
  }
  TRY(mount_host_root(root));
  return lay_all(bundle, files);
}

Result<std::vector<OciMount>> HostImage::lay_all(const std::string& bundle,
                                                 const std::vector<LaidDirectory>& files) {
  std::vector<OciMount> mounts;
  for (const LaidDirectory& one : files)
    if (one.destination != "/") mounts.push_back(TRY(lay(bundle, mounts.size(), one)));
  return mounts;
}

Result<OciMount> HostImage::lay(const std::string& bundle, std::size_t number,
                                const LaidDirectory& files) {
  const std::string place = bundle + "/laid/" + std::to_string(number);
  const std::string own = bundle + "/laid-upper/" + std::to_string(number);
  struct stat source{};
  if (::stat(files.source.c_str(), &source) != 0) return errno_error("look at " + files.source);
  for (const std::string& part : {place, own + "/upper", own + "/work"})
    TRY(make_directories(part, 0755));
  // The topmost layer decides whose directory it is.
  if (change_owner(AT_FDCWD, (own + "/upper").c_str(), source.st_uid, source.st_gid) != 0 ||
      ::chmod((own + "/upper").c_str(), source.st_mode & 07777) != 0)
    return errno_error("give " + own + " the mode of " + files.source);
  std::string lower = files.source;
  if (files.merged) lower += TRY(layer_of_root(bundle + "/rootfs", files.destination));
  const std::string options = "lowerdir=" + lower + ",upperdir=" + own + "/upper,workdir=" + own +
                              "/work" + overlay_options();
  if (::mount("overlay", place.c_str(), "overlay", 0, options.c_str()) != 0)
    return errno_error("lay " + files.source + " over " + files.destination);
  return OciMount{files.destination, "none", place, {"rbind", "rprivate", "rw"}};
}

Result<std::string> HostImage::mount_base(const std::string& bundle) {
  TRY(renew_mask());
  if (is_rootless()) return paths_.mask_dir();  // the image's layers are put together with / itself
  std::string base = bundle + "/base";
  TRY(make_directories(base, 0755));
  const std::string options = "lowerdir=" + paths_.mask_dir() + ":/";
  if (::mount("overlay", base.c_str(), "overlay", MS_RDONLY, options.c_str()) != 0)
    return errno_error("mount an overlay of / at " + base);
  return base;
}

Result<void> HostImage::unmount_root(const std::string& bundle) {
  std::vector<std::string> places;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(bundle + "/laid", error))
    places.push_back(entry.path());
  places.insert(places.end(), {bundle + "/rootfs", bundle + "/base"});
  for (const std::string& place : places)
    if (::umount2(place.c_str(), MNT_DETACH) != 0 && errno != EINVAL && errno != ENOENT)
      return errno_error("unmount " + place);
  return {};
}

std::vector<OciMount> HostImage::extra_mounts() const {
  if (is_rootless()) return {};
  std::vector<OciMount> mounts;
  // As the process's first thread sees them, in the host's namespace: ours has several more for
  // every pod.
  Result<std::string> mountinfo = read_file("/proc/self/mountinfo");
  if (!mountinfo || mount_points_to_bind(*mountinfo, {}).empty()) return mounts;
  std::vector<std::string> hidden;
  auto add = [&](const std::string& path) {
    std::error_code error;
    if (fs::path real = fs::canonical(path, error); !error) hidden.push_back(real);
  };
  {
    std::lock_guard lock(mutex_);
    for (const std::string& path : masked_.directories) add(path);
    for (const std::string& path : masked_.files) add(path);
  }
  std::vector<std::string> points = mount_points_to_bind(*mountinfo, hidden);
  std::erase_if(
      points, [](const std::string& point) {  // what was mounted in a place that ours does not have
        std::error_code error;
        return !fs::exists(point, error);
      });
  for (const std::string& point : points)
    mounts.push_back({point, "none", point, {"bind", "ro", "nosuid", "nodev"}});
  // The mask lies below these mounts.
  for (const std::string& path : paths_to_cover(*mountinfo, points, hidden)) {
    struct stat host{};
    if (::stat(path.c_str(), &host) != 0) continue;
    if (!S_ISDIR(host.st_mode)) {
      mounts.push_back({path, "none", "/dev/null", {"bind", "ro"}});
      continue;
    }
    char mode[16];
    std::snprintf(mode, sizeof mode, "mode=%04o", host.st_mode & 07777u);
    mounts.push_back({path, "tmpfs", "tmpfs", {"nosuid", "nodev", mode, kCoverSize}});
  }
  return mounts;
}

std::vector<std::string> mount_points_to_bind(std::string_view mountinfo,
                                              const std::vector<std::string>& hidden) {
  std::vector<std::string> found;
  for (const auto& [point, type] : mount_lines(mountinfo)) {
    if (point == "/" || std::ranges::find(kDiskFileSystems, type) == std::end(kDiskFileSystems))
      continue;
    const bool system = std::ranges::any_of(
        kSystemPlaces, [&](const char* place) { return is_below(point, place); });
    bool out = !system || point.find('\\') != std::string::npos ||
               std::ranges::any_of(hidden, [&](const auto& dir) { return is_below(point, dir); });
    if (!out && std::ranges::find(found, point) == found.end()) found.push_back(point);
  }
  return found;
}

std::vector<std::string> paths_to_cover(std::string_view mountinfo,
                                        const std::vector<std::string>& bound,
                                        const std::vector<std::string>& hidden) {
  const std::vector<MountLine> mounts = mount_lines(mountinfo);
  std::vector<std::string> found;
  for (const std::string& path : hidden) {
    std::string_view holder;  // the mount in which the path, or the place of its own mount, lies
    for (const MountLine& mount : mounts)
      if (mount.point != path && is_below(path, mount.point) && mount.point.size() > holder.size())
        holder = mount.point;
    if (std::ranges::find(bound, holder) != bound.end() &&
        std::ranges::none_of(found, [&](const auto& above) { return is_below(path, above); }))
      found.push_back(path);
  }
  return found;
}

}  // namespace hekla::agent
