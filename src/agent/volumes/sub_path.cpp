#include "agent/volumes/sub_path.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>

#include "agent/os/instance.h"
#include "agent/os/user_namespace.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr mode_t kInherited = 02777;  // of the volume's mode

FileDescriptor open_beneath(int root, const std::string& path, std::uint64_t flags = O_PATH) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return FileDescriptor(
      static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

// As the volume is, for the users it is meant for: as the kubelet's SafeMakeDir does, and whatever
// our umask is.
Result<void> make_directory(int parent, const std::string& name, const struct stat& volume) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0) {
    if (errno == EEXIST) return {};
    return errno_error("mkdir");
  }
  FileDescriptor made = open_beneath(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const bool hands_group_on = (volume.st_mode & S_ISGID) != 0;
  if (!made ||
      (hands_group_on && change_owner(made.get(), "", -1U, volume.st_gid, AT_EMPTY_PATH) != 0) ||
      ::fchmod(made.get(), volume.st_mode & kInherited) != 0)
    return errno_error("open to its users");
  return {};
}

}  // namespace

Result<FileDescriptor> open_sub_path(const std::string& root, const std::string& sub) {
  auto outside = [&] {
    return fail(Code::invalid, "subPath \"" + sub + "\" leads out of the volume");
  };
  FileDescriptor top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return errno_error("open the volume " + root);
  struct stat volume{};
  if (::fstat(top.get(), &volume) != 0) return errno_error("look at the volume " + root);
  FileDescriptor here = open_beneath(top.get(), ".");
  std::string path;
  for (const fs::path& part : fs::path(sub)) {
    if (part == "..")
      return fail(Code::invalid, "subPath \"" + sub + "\" must stay inside the volume");
    if (part.empty() || part == ".") continue;
    path += (path.empty() ? "" : "/") + part.string();
    // Always from the top: a link in the middle may lead sideways, but not out.
    FileDescriptor next = open_beneath(top.get(), path);
    if (!next && errno == ENOENT) {
      if (Result<void> made = make_directory(here.get(), part, volume); !made)
        return fail(made.error().code, "create subPath \"" + sub + "\": " + made.error().message);
      next = open_beneath(top.get(), path);
    }
    if (!next && (errno == EXDEV || errno == ELOOP)) return outside();
    if (!next) return errno_error("open subPath \"" + sub + "\"");
    here = std::move(next);
  }
  return here;
}

Result<void> pin(const FileDescriptor& found, const std::string& place) {
  struct stat info{};
  if (::fstat(found.get(), &info) != 0) return errno_error("look at a subPath");
  if (S_ISDIR(info.st_mode)) {
    TRY(make_directories(place));
  } else {
    TRY(make_directories(fs::path(place).parent_path()));
    FileDescriptor file(::open(place.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    if (!file) return errno_error("create " + place);
  }
  const std::string source = "/proc/self/fd/" + std::to_string(found.get());
  if (::mount(source.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return errno_error("bind a subPath to " + place);
  return {};
}

}  // namespace hekla::agent
