#include "agent/image/layer_pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "agent/os/file_descriptor.h"
#include "agent/os/user_namespace.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kPackBlock = 1 << 16;
constexpr std::size_t kLongestAttribute = 1 << 16;
constexpr unsigned kPermissionBits = 07777;

struct EntryFree {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
using Entry = std::unique_ptr<archive_entry, EntryFree>;

std::string join(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

// Sorted, so that equal trees make equal archives.
Result<std::vector<std::string>> names_in(int directory) {
  int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = copy < 0 ? nullptr : ::fdopendir(copy);
  if (!stream) {
    const int why = errno;
    if (copy >= 0) ::close(copy);
    return errno_error("read a directory", why);
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream)) {
    std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(stream);
  std::ranges::sort(names);
  return names;
}

bool is_whiteout(const struct stat& info) {
  return S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0);
}

bool is_opaque(int directory) {
  char value = 0;
  return ::fgetxattr(directory, opaque_attribute(), &value, 1) == 1 && value == 'y';
}

}  // namespace

struct LayerPacker::State {
  archive* out = archive_write_new();
  std::map<std::pair<dev_t, ino_t>, std::string> linked;
  bool empty = true;
  ~State() { archive_write_free(out); }

  std::unexpected<Error> failure(const std::string& what) const {
    const char* why = archive_error_string(out);
    return fail(Code::internal, "pack " + what + ": " + (why ? why : "unknown error"));
  }
  Result<void> header(archive_entry* entry, const std::string& target) {
    empty = false;
    if (archive_write_header(out, entry) < ARCHIVE_WARN) return failure(target);
    return {};
  }
  Result<void> data(const char* bytes, std::size_t size, const std::string& target) {
    while (size > 0) {
      la_ssize_t n = archive_write_data(out, bytes, size);
      if (n <= 0) return failure(target);
      bytes += n;
      size -= static_cast<std::size_t>(n);
    }
    return {};
  }
  Result<void> content(int parent, const std::string& name, std::int64_t size,
                       const std::string& target);
  Result<void> one(int parent, const std::string& name, const struct stat& info,
                   const std::string& target, const PackedLook& look);
  Result<void> tree(int directory, const std::string& target, const std::string& below,
                    const PackedLook& look, bool upper);
  Result<void> whiteout(const std::string& target);
  static Entry entry(const std::string& target, mode_t type, unsigned mode, const PackedLook& look);
};

Entry LayerPacker::State::entry(const std::string& target, mode_t type, unsigned mode,
                                const PackedLook& look) {
  Entry out(archive_entry_new());
  archive_entry_set_pathname(out.get(), target.c_str());
  archive_entry_set_filetype(out.get(), type);
  archive_entry_set_perm(out.get(), mode);
  archive_entry_set_uid(out.get(), look.uid.value_or(0));
  archive_entry_set_gid(out.get(), look.gid.value_or(0));
  return out;
}

Result<void> LayerPacker::State::content(int parent, const std::string& name, std::int64_t size,
                                         const std::string& target) {
  FileDescriptor file(::openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return errno_error("open " + target);
  std::vector<char> buffer(kPackBlock);
  while (size > 0) {
    ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read " + target);
    if (n == 0) return fail(Code::internal, target + " became shorter while it was read");
    auto piece = std::min<std::int64_t>(n, size);
    TRY(data(buffer.data(), static_cast<std::size_t>(piece), target));
    size -= piece;
  }
  return {};
}

Result<void> LayerPacker::State::one(int parent, const std::string& name, const struct stat& info,
                                     const std::string& target, const PackedLook& look) {
  if (S_ISSOCK(info.st_mode)) return {};
  unsigned mode = info.st_mode & kPermissionBits;
  if (look.mode && S_ISREG(info.st_mode)) mode = *look.mode;
  Entry out = entry(target, info.st_mode & S_IFMT, mode,
                    {look.uid.value_or(info.st_uid), look.gid.value_or(info.st_gid), {}, {}});
  archive_entry_set_mtime(out.get(), info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  const std::string path = "/proc/self/fd/" + std::to_string(parent) + "/" + name;
  if (S_ISLNK(info.st_mode)) {
    std::string link(static_cast<std::size_t>(info.st_size) + 1, '\0');
    ssize_t n = ::readlinkat(parent, name.c_str(), link.data(), link.size());
    if (n < 0) return errno_error("read the link " + target);
    link.resize(static_cast<std::size_t>(n));
    archive_entry_set_symlink(out.get(), link.c_str());
  } else {
    std::string list(kLongestAttribute, '\0'), value(kLongestAttribute, '\0');
    ssize_t size = ::llistxattr(path.c_str(), list.data(), list.size());
    for (const char *key = list.data(), *end = key + std::max<ssize_t>(0, size); key < end;
         key += std::string_view(key).size() + 1) {
      std::string_view text = key;
      if (text != "security.capability" &&
          (!text.starts_with("user.") || text.starts_with("user.overlay.")))
        continue;
      ssize_t n = ::lgetxattr(path.c_str(), key, value.data(), value.size());
      if (n >= 0)
        archive_entry_xattr_add_entry(out.get(), key, value.data(), static_cast<std::size_t>(n));
    }
  }
  if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))
    archive_entry_set_rdev(out.get(), info.st_rdev);
  if (!S_ISREG(info.st_mode)) return header(out.get(), target);
  if (info.st_nlink > 1) {
    auto [first, fresh] = linked.try_emplace({info.st_dev, info.st_ino}, target);
    if (!fresh) {
      archive_entry_set_hardlink(out.get(), first->second.c_str());
      return header(out.get(), target);
    }
  }
  archive_entry_set_size(out.get(), info.st_size);
  TRY(header(out.get(), target));
  return content(parent, name, info.st_size, target);
}

Result<void> LayerPacker::State::whiteout(const std::string& target) {
  Entry out = entry(target, AE_IFREG, 0600, {});
  archive_entry_set_size(out.get(), 0);
  return header(out.get(), target);
}

Result<void> LayerPacker::State::tree(int directory, const std::string& target,
                                      const std::string& below, const PackedLook& look,
                                      bool upper) {
  for (const std::string& name : TRY(names_in(directory))) {
    const std::string path = join(target, name), inner = join(below, name);
    if (look.skip && look.skip(inner)) continue;
    struct stat info{};
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return errno_error("look at " + path);
    if (upper && is_whiteout(info)) {
      TRY(whiteout(join(target, ".wh." + name)));
      continue;
    }
    if (name.starts_with(".wh."))
      return fail(Code::invalid, path + ": a name that begins with .wh. cannot be in an image");
    TRY(one(directory, name, info, path, look));
    if (!S_ISDIR(info.st_mode)) continue;
    FileDescriptor child(
        ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child) return errno_error("open " + path);
    if (upper && is_opaque(child.get())) TRY(whiteout(join(path, ".wh..wh..opq")));
    TRY(tree(child.get(), path, inner, look, upper));
  }
  return {};
}

LayerPacker::LayerPacker() : state_(std::make_unique<State>()) {}
LayerPacker::~LayerPacker() = default;
bool LayerPacker::is_empty() const { return state_->empty; }

Result<void> LayerPacker::open(const std::string& path, bool compressed) {
  if (compressed) {
    archive_write_add_filter_gzip(state_->out);
    archive_write_set_filter_option(state_->out, "gzip", "timestamp", nullptr);
  }
  archive_write_set_format_pax_restricted(state_->out);
  if (archive_write_open_filename(state_->out, path.c_str()) != ARCHIVE_OK)
    return state_->failure(path);
  return {};
}

Result<void> LayerPacker::add_upper(int directory) {
  return state_->tree(directory, "", "", {}, true);
}

Result<void> LayerPacker::add(int parent, const std::string& name, const std::string& target,
                              const PackedLook& look) {
  struct stat info{};
  if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return errno_error("look at " + name);
  if (!S_ISDIR(info.st_mode)) return state_->one(parent, name, info, target, look);
  FileDescriptor directory(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return errno_error("open " + name);
  return state_->tree(directory.get(), target, "", look, false);
}

Result<void> LayerPacker::add_directory(const std::string& target, const PackedLook& look) {
  Entry out = State::entry(target, AE_IFDIR, 0755, look);
  return state_->header(out.get(), target);
}

Result<void> LayerPacker::add_text(const std::string& target, const std::string& content,
                                   const PackedLook& look) {
  Entry out = State::entry(target, AE_IFREG, look.mode.value_or(0644), look);
  archive_entry_set_size(out.get(), static_cast<la_int64_t>(content.size()));
  TRY(state_->header(out.get(), target));
  return state_->data(content.data(), content.size(), target);
}

Result<void> LayerPacker::close() {
  if (archive_write_close(state_->out) != ARCHIVE_OK) return state_->failure("the archive");
  return {};
}

}  // namespace hekla::agent
