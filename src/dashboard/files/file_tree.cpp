#include "dashboard/files/file_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/rng.h"
#include "json/yaml_scalar.h"
#include "model/time.h"

namespace hekla::dashboard {

namespace {

std::unexpected<Error> file_error(std::string_view path) {
  const int number = errno;
  const std::string what = (path.empty() ? std::string("/") : std::string(path)) + ": ";
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return fail(Code::not_found, what + "there is no such file");
    case EXDEV:
    case ELOOP:
      return fail(Code::forbidden, what + "this link leads out of the volume");
    case ENOTEMPTY:
      return fail(Code::conflict, what + "the directory is not empty");
    case ENOSPC:
    case EDQUOT:
      return fail(Code::invalid, what + "the volume is full");
    case EROFS:
    case EACCES:
    case EPERM:
      return fail(Code::forbidden, what + std::strerror(number));
    default:
      return fail(Code::internal, what + std::strerror(number));
  }
}

OpenFile open_below(int root, const std::string& path, std::uint64_t flags,
                    std::uint64_t resolve = 0) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  if ((flags & O_PATH) == 0) how.flags |= O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve;
  return OpenFile(static_cast<int>(
      ::syscall(SYS_openat2, root, path.empty() ? "." : path.c_str(), &how, sizeof how)));
}

bool is_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= 255 &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

const char* type_of(mode_t mode) {
  return S_ISDIR(mode) ? "dir" : S_ISREG(mode) ? "file" : S_ISLNK(mode) ? "link" : "other";
}

Result<void> write_all(int fd, std::string_view content, std::string_view path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_error(path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<FileTree> FileTree::open(const std::string& root) {
  OpenFile opened(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return fail(Code::not_found, "the volume's files are not on this machine");
  return FileTree(std::move(opened));
}

Result<FileTree::Found> FileTree::find(std::string_view path) const {
  // The kind comes first: opening a device or a pipe may do something.
  OpenFile seen = open_below(root_.get(), std::string(path), O_PATH);
  struct stat facts{};
  if (!seen || ::fstat(seen.get(), &facts) != 0) return file_error(path);
  if (!S_ISDIR(facts.st_mode) && !S_ISREG(facts.st_mode))
    return fail(Code::invalid, std::string(path) + ": this is neither a file nor a directory");
  Found found;
  found.directory = S_ISDIR(facts.st_mode);
  found.file = open_below(root_.get(), std::string(path),
                          found.directory ? O_RDONLY | O_DIRECTORY : O_RDONLY);
  if (!found.file || ::fstat(found.file.get(), &facts) != 0) return file_error(path);
  if (!found.directory && !S_ISREG(facts.st_mode))
    return fail(Code::conflict, std::string(path) + ": it has just been replaced");
  found.size = static_cast<std::uint64_t>(facts.st_size);
  return found;
}

Result<json::Object> FileTree::list(const OpenFile& directory) {
  const int copy = ::dup(directory.get());
  DIR* stream = copy >= 0 ? ::fdopendir(copy) : nullptr;
  if (!stream) {
    if (copy >= 0) ::close(copy);
    return file_error("");
  }
  std::vector<std::pair<std::string, struct stat>> rows;
  std::int64_t unnamed = 0;
  bool more = false;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string name(entry->d_name);
    if (name == "." || name == "..") continue;
    if (rows.size() == kEntriesMax) {
      more = true;
      break;
    }
    struct stat facts{};
    if (::fstatat(directory.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (json::valid_utf8(name) == name)
      rows.emplace_back(name, facts);
    else
      ++unnamed;
  }
  ::closedir(stream);
  std::ranges::sort(rows, {}, [](const auto& row) { return row.first; });
  json::Array entries;
  for (const auto& [name, facts] : rows)
    entries.push_back(json::Object{
        {"name", name},
        {"type", type_of(facts.st_mode)},
        {"size", static_cast<std::int64_t>(facts.st_size)},
        {"modified", model::format_rfc3339(WallTime(std::chrono::seconds(facts.st_mtime)))}});
  return json::Object{{"entries", std::move(entries)}, {"more", more}, {"unnamed", unnamed}};
}

Result<OpenFile> FileTree::parent_of(std::string_view path, std::string& name) const {
  const std::size_t slash = path.rfind('/');
  name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (!is_name(name)) return fail(Code::bad_request, "a file's name is missing");
  const std::string_view above =
      slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  OpenFile parent = open_below(root_.get(), std::string(above), O_RDONLY | O_DIRECTORY);
  if (!parent) return file_error(above);
  return parent;
}

Result<void> FileTree::write(std::string_view path, std::string_view content) const {
  std::string name;
  const OpenFile parent = TRY(parent_of(path, name));
  struct stat above{};
  if (::fstat(parent.get(), &above) != 0) return file_error(path);
  struct stat there{};
  if (::fstatat(parent.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISREG(there.st_mode))
    return fail(Code::conflict, std::string(path) + ": there is something that is no file");
  const std::string made = ".upload-" + uuid(real_rng());
  OpenFile file(::openat(parent.get(), made.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return file_error(path);
  Result<void> written = write_all(file.get(), content, path);
  // The file is its directory's owner's, who may then change it.
  if (written &&
      (::fchown(file.get(), above.st_uid, above.st_gid) != 0 || ::fchmod(file.get(), 0664) != 0 ||
       ::renameat(parent.get(), made.c_str(), parent.get(), name.c_str()) != 0))
    written = file_error(path);
  if (!written) ::unlinkat(parent.get(), made.c_str(), 0);
  return written;
}

Result<void> FileTree::remove(std::string_view path) const {
  std::string name;
  const OpenFile parent = TRY(parent_of(path, name));
  if (::unlinkat(parent.get(), name.c_str(), 0) == 0) return {};
  if (errno == EISDIR && ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0) return {};
  return file_error(path);
}

}  // namespace hekla::dashboard
