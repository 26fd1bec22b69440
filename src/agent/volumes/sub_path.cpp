#include "agent/volumes/sub_path.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>

#include "agent/runtime/instance.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr mode_t kOpenToAllUsers = 0777;  // the containers' users are not known here

FileDescriptor open_beneath(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return FileDescriptor(
      static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

}  // namespace

Result<FileDescriptor> open_sub_path(const std::string& root, const std::string& sub) {
  auto outside = [&] {
    return fail(Code::invalid, "subPath \"" + sub + "\" leads out of the volume");
  };
  FileDescriptor top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return errno_error("open the volume " + root);
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
      if (::mkdirat(here.get(), part.c_str(), kOpenToAllUsers) != 0 && errno != EEXIST)
        return errno_error("create subPath \"" + sub + "\"");
      next = open_beneath(top.get(), path);
    }
    if (!next && (errno == EXDEV || errno == ELOOP)) return outside();
    if (!next) return errno_error("open subPath \"" + sub + "\"");
    here = std::move(next);
  }
  return here;
}

Result<void> pin(const FileDescriptor& found, const std::string& place) {
  struct stat info {};
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
