#include "agent/image/layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "agent/os/file_descriptor.h"
#include "agent/os/user_namespace.h"
#include "base/digest.h"

namespace hekla::agent {
namespace {

constexpr std::string_view kWhiteout = ".wh.", kOpaque = ".wh..wh..opq";
constexpr std::size_t kBlock = 1 << 16;
constexpr unsigned kModeBits = 07777;

struct ArchiveFree {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Archive = std::unique_ptr<archive, ArchiveFree>;

// Links are followed as the container would: "/" is `root`.
FileDescriptor open_inside(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const char* name = path.empty() ? "." : path.c_str();
  return FileDescriptor(static_cast<int>(::syscall(SYS_openat2, root, name, &how, sizeof how)));
}

// "./a//b/" -> "a/b"; fails on "..".
Result<std::string> clean_path(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    std::size_t slash = path.find('/');
    std::string_view part = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") return fail(Code::invalid, "leaves the image's root");
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

std::pair<std::string, std::string> split_path(const std::string& path) {
  std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string fd_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

class LayerWriter {
 public:
  LayerWriter(FileDescriptor root, std::vector<FileDescriptor> lowers)
      : root_(std::move(root)), lowers_(std::move(lowers)) {}

  Result<void> add(archive* reader, archive_entry* entry);

 private:
  Result<FileDescriptor> open_parent(const std::string& directory);
  Result<void> copy_look(int parent, const std::string& name, const std::string& path);
  Result<void> hide(int parent, const std::string& name);
  Result<void> make_way(int parent, const std::string& name, bool for_directory, bool& opaque);
  Result<void> make(archive* reader, archive_entry* entry, int parent, const std::string& name);
  Result<void> make_file(archive* reader, archive_entry* entry, int parent,
                         const std::string& name);
  Result<void> make_hard_link(const char* target, int parent, const std::string& name);
  Result<void> finish(archive_entry* entry, int parent, const std::string& name);

  FileDescriptor root_;
  std::vector<FileDescriptor> lowers_;
};

Result<void> set_opaque(int parent, const std::string& name) {
  FileDescriptor dir(::openat(parent, name.empty() ? "." : name.c_str(),
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!dir) return errno_error("open the directory " + name);
  if (::fsetxattr(dir.get(), opaque_attribute(), "y", 1, 0) != 0)
    return errno_error("make a directory opaque");
  return {};
}

Result<void> LayerWriter::copy_look(int parent, const std::string& name, const std::string& path) {
  struct stat info{};
  for (const FileDescriptor& lower : lowers_) {
    FileDescriptor found = open_inside(lower.get(), path, O_PATH | O_NOFOLLOW);
    if (!found || ::fstat(found.get(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    if (change_owner(parent, name.c_str(), info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW) != 0 ||
        ::fchmodat(parent, name.c_str(), info.st_mode & kModeBits, 0) != 0)
      return errno_error("copy the mode of " + path);
    return {};
  }
  return {};
}

// Opens a directory of the layer; makes it, and those above it, where the layer does not carry it.
Result<FileDescriptor> LayerWriter::open_parent(const std::string& directory) {
  FileDescriptor found = open_inside(root_.get(), directory, O_RDONLY | O_DIRECTORY);
  if (found) return found;
  if (errno != ENOENT || directory.empty()) return errno_error("open the directory " + directory);
  auto [above, name] = split_path(directory);
  FileDescriptor parent = TRY(open_parent(above));
  if (::mkdirat(parent.get(), name.c_str(), 0755) != 0)
    return errno_error("create the directory " + directory);
  TRY(copy_look(parent.get(), name, directory));
  found = open_inside(root_.get(), directory, O_RDONLY | O_DIRECTORY);
  if (!found) return errno_error("open the directory " + directory);
  return found;
}

// A whiteout speaks of the layers below: what this layer has under the name stays.
Result<void> LayerWriter::hide(int parent, const std::string& name) {
  if (name.empty() || name == "." || name == "..")
    return fail(Code::invalid, "whiteout of nothing");
  if (::mknodat(parent, name.c_str(), S_IFCHR, makedev(0, 0)) == 0) return {};
  if (errno != EEXIST) return errno_error("create a whiteout");
  struct stat info{};
  if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return errno_error("look at " + name);
  return S_ISDIR(info.st_mode) ? set_opaque(parent, name) : Result<void>();
}

// A later entry of a name replaces an earlier one; only directories are merged.
Result<void> LayerWriter::make_way(int parent, const std::string& name, bool for_directory,
                                   bool& opaque) {
  struct stat info{};
  if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Result<void>() : errno_error("look at " + name);
  if (S_ISDIR(info.st_mode)) {
    if (for_directory) return {};
    std::error_code error;
    std::filesystem::remove_all(fd_path(parent) + "/" + name, error);
    if (error) return fail(Code::internal, "remove " + name + ": " + error.message());
    return {};
  }
  opaque = for_directory && S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0);
  if (::unlinkat(parent, name.c_str(), 0) != 0) return errno_error("remove " + name);
  return {};
}

Result<void> LayerWriter::make_file(archive* reader, archive_entry*, int parent,
                                    const std::string& name) {
  FileDescriptor file(
      ::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return errno_error("create " + name);
  int status = archive_read_data_into_fd(reader, file.get());
  if (status < ARCHIVE_WARN)
    return fail(Code::invalid, "write " + name + ": " + archive_error_string(reader));
  return {};
}

Result<void> LayerWriter::make_hard_link(const char* target, int parent, const std::string& name) {
  std::string path = TRY(clean_path(target));
  auto [directory, last] = split_path(path);
  FileDescriptor from = open_inside(root_.get(), directory, O_PATH | O_DIRECTORY);
  if (!from || last.empty()) return errno_error("find the hard link's target " + path);
  if (::linkat(from.get(), last.c_str(), parent, name.c_str(), 0) != 0)
    return errno_error("link " + name + " to " + path);
  return {};
}

Result<void> LayerWriter::make(archive* reader, archive_entry* entry, int parent,
                               const std::string& name) {
  const mode_t type = archive_entry_filetype(entry);
  bool opaque = false;
  TRY(make_way(parent, name, type == AE_IFDIR, opaque));
  if (const char* target = archive_entry_hardlink(entry))
    return make_hard_link(target, parent, name);
  switch (type) {
    case AE_IFDIR:
      if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST)
        return errno_error("create the directory " + name);
      if (opaque) TRY(set_opaque(parent, name));
      break;
    case AE_IFLNK: {
      const char* target = archive_entry_symlink(entry);
      if (::symlinkat(target ? target : "", parent, name.c_str()) != 0)
        return errno_error("create the link " + name);
      break;
    }
    case AE_IFREG:
      TRY(make_file(reader, entry, parent, name));
      break;
    case AE_IFIFO:
    case AE_IFCHR:
    case AE_IFBLK:
      // Without effect in a container: its root is mounted nodev.
      if (is_rootless() && type != AE_IFIFO) return {};  // nobody else could make one either
      if (::mknodat(parent, name.c_str(), type | 0600, archive_entry_rdev(entry)) != 0)
        return errno_error("create the node " + name);
      break;
    default:
      return fail(Code::invalid, "unsupported file type");
  }
  return finish(entry, parent, name);
}

// Owner before mode (chown drops set-uid), times last.
Result<void> LayerWriter::finish(archive_entry* entry, int parent, const std::string& name) {
  auto uid = static_cast<uid_t>(archive_entry_uid(entry));
  auto gid = static_cast<gid_t>(archive_entry_gid(entry));
  if (change_owner(parent, name.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) != 0)
    return errno_error("chown " + name);
  const bool link = archive_entry_filetype(entry) == AE_IFLNK;
  if (!link && ::fchmodat(parent, name.c_str(), archive_entry_perm(entry) & kModeBits, 0) != 0)
    return errno_error("chmod " + name);
  // overlayfs' own attributes would let a layer rearrange those below it: only these two kinds
  // pass.
  const std::string path = fd_path(parent) + "/" + name;
  archive_entry_xattr_reset(entry);
  const char* key = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  while (archive_entry_xattr_next(entry, &key, &value, &size) == ARCHIVE_OK) {
    std::string_view attribute = key ? key : "";
    if (attribute != "security.capability" &&
        (!attribute.starts_with("user.") || attribute.starts_with("user.overlay.")))
      continue;
    if (::lsetxattr(path.c_str(), key, value, size, 0) != 0 && errno != ENOTSUP && errno != EPERM)
      return errno_error("set " + std::string(attribute) + " of " + name);
  }
  timespec times[2] = {{archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)},
                       {archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)}};
  if (archive_entry_mtime_is_set(entry))
    ::utimensat(parent, name.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return {};
}

Result<void> LayerWriter::add(archive* reader, archive_entry* entry) {
  const char* raw = archive_entry_pathname(entry);
  std::string path = TRY(clean_path(raw ? raw : ""));
  if (path.empty()) {  // the root itself
    if (archive_entry_filetype(entry) != AE_IFDIR) return {};
    return finish(entry, root_.get(), ".");
  }
  auto [directory, name] = split_path(path);
  FileDescriptor parent = TRY(open_parent(directory));
  if (name == kOpaque) return set_opaque(parent.get(), "");
  if (name.starts_with(kWhiteout)) return hide(parent.get(), name.substr(kWhiteout.size()));
  return make(reader, entry, parent.get(), name);
}

// The tar file within a layer's file, uncompressed and digested on its way to the one who reads it.
struct TarStream {
  Archive file;
  Digest digest;
  const std::atomic<bool>* cancelled;
  bool ended = false;

  Result<void> open(const std::string& path) {
    archive_read_support_filter_gzip(file.get());
    archive_read_support_filter_zstd(file.get());
    archive_read_support_format_raw(file.get());
    archive_read_support_format_empty(file.get());
    archive_entry* whole = nullptr;
    int status = archive_read_open_filename(file.get(), path.c_str(), kBlock);
    if (status == ARCHIVE_OK) status = archive_read_next_header(file.get(), &whole);
    ended = status == ARCHIVE_EOF;
    if (status == ARCHIVE_OK || ended) return {};
    const char* why = archive_error_string(file.get());
    return fail(Code::invalid, std::string("read the layer: ") + (why ? why : "unknown error"));
  }
  static la_ssize_t read(archive* reader, void* user, const void** piece) {
    auto* self = static_cast<TarStream*>(user);
    if (self->cancelled && *self->cancelled) {
      archive_set_error(reader, ECANCELED, "cancelled");
      return ARCHIVE_FATAL;
    }
    if (self->ended) return 0;
    std::size_t size = 0;
    la_int64_t offset = 0;
    int status = archive_read_data_block(self->file.get(), piece, &size, &offset);
    self->ended = status == ARCHIVE_EOF;
    if (self->ended) return 0;
    if (status != ARCHIVE_OK) {
      archive_set_error(reader, archive_errno(self->file.get()), "%s",
                        archive_error_string(self->file.get()));
      return ARCHIVE_FATAL;
    }
    self->digest.add({static_cast<const char*>(*piece), size});
    return static_cast<la_ssize_t>(size);
  }
};

}  // namespace

Result<std::string> unpack_layer(const std::string& path, const std::string& target,
                                 const std::vector<std::string>& lowers,
                                 const std::atomic<bool>* cancelled) {
  FileDescriptor root(::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return errno_error("open " + target);
  std::vector<FileDescriptor> below;
  for (const std::string& lower : lowers) {
    below.emplace_back(::open(lower.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!below.back()) return errno_error("open " + lower);
  }
  TarStream stream{Archive(archive_read_new()), {}, cancelled};
  Archive reader(archive_read_new());
  if (!reader || !stream.file) return fail(Code::internal, "out of memory");
  TRY(stream.open(path));
  archive_read_support_format_tar(reader.get());
  archive_read_support_format_empty(reader.get());
  auto broken = [&] {
    const char* why = archive_error_string(reader.get());
    return fail(Code::invalid, std::string("read the layer: ") + (why ? why : "unknown error"));
  };
  if (archive_read_open(reader.get(), &stream, nullptr, TarStream::read, nullptr) != ARCHIVE_OK)
    return broken();
  LayerWriter writer(std::move(root), std::move(below));
  archive_entry* entry = nullptr;
  while (true) {
    int status = archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) break;
    if (status < ARCHIVE_WARN) return broken();
    const char* name = archive_entry_pathname(entry);
    if (Result<void> added = writer.add(reader.get(), entry); !added)
      return fail(added.error().code, "layer entry \"" + std::string(name ? name : "") +
                                          "\": " + added.error().message);
  }
  // The digest is that of the whole file, whatever follows the last entry.
  const void* rest = nullptr;
  la_ssize_t size = 0;
  do size = TarStream::read(reader.get(), &stream, &rest);
  while (size > 0);
  if (size < 0) return broken();
  return "sha256:" + stream.digest.finish_hex();
}

}  // namespace hekla::agent
