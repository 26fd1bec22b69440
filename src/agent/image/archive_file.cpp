#include "agent/image/archive_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "agent/os/file_descriptor.h"
#include "base/digest.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kArchiveBlock = 1 << 16;
constexpr int kMostLinks = 16;

struct ReaderFree {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, ReaderFree>;

std::unexpected<Error> archive_failure(const std::string& what, archive* handle) {
  const char* why = archive_error_string(handle);
  return fail(Code::invalid, what + ": " + (why ? why : "unknown error"));
}

Result<Reader> open_reader(const std::string& path, bool raw) {
  Reader reader(archive_read_new());
  if (!reader) return fail(Code::internal, "out of memory");
  archive_read_support_filter_all(reader.get());
  if (raw)
    archive_read_support_format_raw(reader.get());
  else
    archive_read_support_format_tar(reader.get());
  if (archive_read_open_filename(reader.get(), path.c_str(), kArchiveBlock) != ARCHIVE_OK)
    return archive_failure("read " + path, reader.get());
  return reader;
}

std::string plain_name(const char* name) {
  return std::filesystem::path(name ? name : "").lexically_normal().string();
}

}  // namespace

Result<std::set<std::string>> archive_names(const std::string& path) {
  Reader reader = TRY(open_reader(path, false));
  std::set<std::string> names;
  archive_entry* entry = nullptr;
  while (true) {
    int status = archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) return names;
    if (status < ARCHIVE_WARN) return archive_failure("read " + path, reader.get());
    names.insert(plain_name(archive_entry_pathname(entry)));
  }
}

Result<std::map<std::string, std::string>> extract_files(const std::string& path,
                                                         const std::string& directory) {
  Reader reader = TRY(open_reader(path, false));
  std::map<std::string, std::string> files, links;
  archive_entry* entry = nullptr;
  while (true) {
    int status = archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) break;
    if (status < ARCHIVE_WARN) return archive_failure("read " + path, reader.get());
    const std::string name = plain_name(archive_entry_pathname(entry));
    if (const char* target = archive_entry_hardlink(entry)) {
      links[name] = plain_name(target);
    } else if (const char* target = archive_entry_symlink(entry)) {
      links[name] = (std::filesystem::path(name).parent_path() / target).lexically_normal();
    } else if (archive_entry_filetype(entry) == AE_IFREG) {
      const std::string place = directory + "/" + std::to_string(files.size());
      FileDescriptor file(
          ::open(place.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      if (!file) return errno_error("create " + place);
      if (archive_read_data_into_fd(reader.get(), file.get()) < ARCHIVE_WARN)
        return archive_failure("unpack " + name, reader.get());
      files[name] = place;
    }
  }
  for (const auto& [name, first] : links) {
    std::string target = first;
    for (int i = 0; i < kMostLinks && links.contains(target); ++i) target = links[target];
    if (auto found = files.find(target); found != files.end()) files.emplace(name, found->second);
  }
  return files;
}

Result<std::string> uncompressed_digest(const std::string& path) {
  Reader reader = TRY(open_reader(path, true));
  archive_entry* entry = nullptr;
  if (archive_read_next_header(reader.get(), &entry) < ARCHIVE_WARN)
    return archive_failure("read " + path, reader.get());
  Digest digest;
  std::vector<char> buffer(kArchiveBlock);
  while (true) {
    la_ssize_t n = archive_read_data(reader.get(), buffer.data(), buffer.size());
    if (n < 0) return archive_failure("read " + path, reader.get());
    if (n == 0) return "sha256:" + digest.finish_hex();
    digest.add({buffer.data(), static_cast<std::size_t>(n)});
  }
}

struct ArchiveWriter::State {
  archive* out = archive_write_new();
  ~State() { archive_write_free(out); }
};

ArchiveWriter::ArchiveWriter() : state_(std::make_unique<State>()) {}
ArchiveWriter::~ArchiveWriter() = default;

namespace {

Result<void> write_header(archive* out, const std::string& name, std::int64_t size) {
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, name.c_str());
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_size(entry, size);
  archive_entry_set_mtime(entry, 0, 0);
  int status = archive_write_header(out, entry);
  archive_entry_free(entry);
  if (status < ARCHIVE_WARN) return archive_failure("write " + name, out);
  return {};
}

Result<void> write_data(archive* out, const std::string& name, const char* data, std::size_t size) {
  while (size > 0) {
    la_ssize_t n = archive_write_data(out, data, size);
    if (n <= 0) return archive_failure("write " + name, out);
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return {};
}

}  // namespace

Result<void> ArchiveWriter::open(const std::string& path) {
  archive_write_set_format_ustar(state_->out);
  int status = path == "-" ? archive_write_open_fd(state_->out, STDOUT_FILENO)
                           : archive_write_open_filename(state_->out, path.c_str());
  if (status != ARCHIVE_OK) return archive_failure("write " + path, state_->out);
  return {};
}

Result<void> ArchiveWriter::add_text(const std::string& name, const std::string& content) {
  TRY(write_header(state_->out, name, static_cast<std::int64_t>(content.size())));
  return write_data(state_->out, name, content.data(), content.size());
}

Result<void> ArchiveWriter::add_file(const std::string& name, const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0) return errno_error("open " + path);
  TRY(write_header(state_->out, name, info.st_size));
  std::vector<char> buffer(kArchiveBlock);
  while (true) {
    ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read " + path);
    if (n == 0) return {};
    TRY(write_data(state_->out, name, buffer.data(), static_cast<std::size_t>(n)));
  }
}

Result<void> ArchiveWriter::close() {
  if (archive_write_close(state_->out) != ARCHIVE_OK)
    return archive_failure("finish the archive", state_->out);
  return {};
}

}  // namespace hekla::agent
