#include "agent/volumes/group_ownership.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "agent/os/file_descriptor.h"
#include "agent/os/user_namespace.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

constexpr mode_t kFileBits = 0660, kDirectoryBits = S_ISGID | 0770;
constexpr int kDeepest = 256;  // one descriptor for each level
constexpr int kLook = O_NOFOLLOW | O_CLOEXEC;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// By the descriptor: a name may have come to mean something else meanwhile. Descriptors without the
// right to read (O_PATH) are changed by their name in /proc.
Result<void> add_mode(int file, mode_t mode, mode_t bits) {
  if ((mode & bits) == bits) return {};
  const std::string name = "/proc/self/fd/" + std::to_string(file);
  if (::chmod(name.c_str(), (mode | bits) & 07777) != 0)
    return errno_error("chmod a file of a volume");
  return {};
}

Result<void> give_directory(FileDescriptor directory, std::uint32_t group, int depth);

Result<void> give_entry(int parent, const char* name, std::uint32_t group, int depth) {
  FileDescriptor file(::openat(parent, name, O_PATH | kLook));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0) {
    if (errno == ENOENT) return {};  // removed meanwhile
    return errno_error(std::string("open ") + name);
  }
  if (S_ISDIR(info.st_mode)) {
    FileDescriptor below(::openat(parent, name, O_RDONLY | O_DIRECTORY | kLook));
    if (!below && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return {};
    if (!below) return errno_error(std::string("open ") + name);
    return give_directory(std::move(below), group, depth + 1);
  }
  if (info.st_gid != group && change_owner(file.get(), "", static_cast<uid_t>(-1), group,
                                           AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0)
    return errno_error(std::string("chown ") + name);
  return S_ISLNK(info.st_mode) ? Result<void>() : add_mode(file.get(), info.st_mode, kFileBits);
}

Result<void> give_directory(FileDescriptor directory, std::uint32_t group, int depth) {
  if (depth > kDeepest)
    return fail(Code::invalid, "directories more than " + std::to_string(kDeepest) + " deep");
  struct stat info{};
  if (::fstat(directory.get(), &info) != 0) return errno_error("look at a directory of a volume");
  if (info.st_gid != group &&
      change_owner(directory.get(), "", static_cast<uid_t>(-1), group, AT_EMPTY_PATH) != 0)
    return errno_error("chown a directory of a volume");
  // The list has a descriptor of its own, which it closes.
  std::unique_ptr<DIR, CloseDirectory> list(
      ::fdopendir(::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0)));
  if (!list) return errno_error("list a directory of a volume");
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") TRY(give_entry(directory.get(), name.c_str(), group, depth));
  }
  // Last, and of the volume's top after all: who finds that right finds everything below right.
  return add_mode(directory.get(), info.st_mode, kDirectoryBits);
}

}  // namespace

Result<void> give_to_group(const std::string& path, std::uint32_t group, bool on_mismatch) {
  FileDescriptor top(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info{};
  if (!top || ::fstat(top.get(), &info) != 0) return errno_error("open " + path);
  if (on_mismatch && info.st_gid == group && (info.st_mode & kDirectoryBits) == kDirectoryBits)
    return {};
  if (Result<void> given = give_directory(std::move(top), group, 0); !given)
    return fail(given.error().code, "give " + path + " to the group " + std::to_string(group) +
                                        ": " + given.error().message);
  return {};
}

}  // namespace hekla::agent
