#include "base/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace hekla {
namespace {

std::unexpected<Error> system_error(const std::string& attempt, const std::string& path) {
  int number = errno;
  Code code = number == ENOENT ? Code::not_found : Code::internal;
  return fail(code, attempt + " " + path + ": " + std::strerror(number));
}

constexpr char kZeros[64 * 1024] = {};

Result<void> write_all(int fd, std::string_view data, const std::string& path) {
  while (!data.empty()) {
    ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("write", path);
    data.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

class PosixAppendFile final : public AppendFile {
 public:
  PosixAppendFile(int fd, std::string path, std::uint64_t size)
      : fd_(fd), path_(std::move(path)), size_(size) {}
  ~PosixAppendFile() override { ::close(fd_); }

  Result<void> append(std::string_view data) override {
    TRY(write_all(fd_, data, path_));
    size_ += data.size();
    return {};
  }
  Result<void> sync() override {
    if (::fdatasync(fd_) != 0) return system_error("fdatasync", path_);
    return {};
  }
  Result<void> truncate(std::uint64_t size) override {
    if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) return system_error("truncate", path_);
    if (::lseek(fd_, static_cast<off_t>(size), SEEK_SET) < 0) return system_error("seek", path_);
    size_ = size;
    return {};
  }
  Result<void> write_ahead(std::uint64_t bytes) override {
    for (std::uint64_t at = size_; at < size_ + bytes;) {
      const auto lot = std::min<std::uint64_t>(sizeof kZeros, size_ + bytes - at);
      const ssize_t n = ::pwrite(fd_, kZeros, lot, static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return system_error("write", path_);
      at += static_cast<std::uint64_t>(n);
    }
    return {};
  }
  std::uint64_t size() const override { return size_; }

 private:
  int fd_;
  std::string path_;
  std::uint64_t size_;
};

class PosixDisk final : public Disk {
 public:
  explicit PosixDisk(std::string root) : root_(std::move(root)) {}

  Result<std::unique_ptr<AppendFile>> open_append(const std::string& name) override {
    std::string path = root_ + "/" + name;
    int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return system_error("open", path);
    off_t end = ::lseek(fd, 0, SEEK_END);
    if (end < 0) return system_error("seek", path);
    return std::make_unique<PosixAppendFile>(fd, path, static_cast<std::uint64_t>(end));
  }
  Result<std::string> read(const std::string& name) override {
    return read_file(root_ + "/" + name);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename((root_ + "/" + from).c_str(), (root_ + "/" + to).c_str()) != 0)
      return system_error("rename", root_ + "/" + from);
    return {};
  }
  Result<void> remove(const std::string& name) override {
    if (::unlink((root_ + "/" + name).c_str()) != 0)
      return system_error("remove", root_ + "/" + name);
    return {};
  }
  Result<std::vector<std::string>> list() override {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(root_, error))
      if (entry.is_regular_file(error)) names.push_back(entry.path().filename());
    if (error) return fail(Code::internal, "list " + root_ + ": " + error.message());
    std::sort(names.begin(), names.end());
    return names;
  }
  Result<void> sync_directory() override {
    int fd = ::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return system_error("open", root_);
    int rc = ::fsync(fd);
    ::close(fd);
    if (rc != 0) return system_error("fsync", root_);
    return {};
  }

 private:
  std::string root_;
};

}  // namespace

Result<std::unique_ptr<Disk>> open_disk(const std::string& root) {
  std::error_code error;
  std::filesystem::create_directories(root, error);
  if (error) return fail(Code::internal, "create " + root + ": " + error.message());
  if (::chmod(root.c_str(), 0700) != 0) return system_error("chmod", root);
  return std::make_unique<PosixDisk>(root);
}

Result<void> write_file_atomically(const std::string& path, std::string_view content,
                                   unsigned mode) {
  std::string temporary = path + ".tmp";
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return system_error("create", temporary);
  Result<void> written = write_all(fd, content, temporary);
  if (written && ::fchmod(fd, mode) != 0) written = system_error("chmod", temporary);
  if (written && ::fdatasync(fd) != 0) written = system_error("fdatasync", temporary);
  ::close(fd);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = system_error("rename", path);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

Result<std::string> read_file(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error("open", path);
  std::string content;
  if (struct stat info{}; ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
    content.reserve(static_cast<std::size_t>(info.st_size));
  char buffer[65536];
  while (true) {
    const std::size_t had = content.size(), room = content.capacity() - had;
    ssize_t n = 0;
    if (room > sizeof buffer) {  // a large file goes to its place at once
      content.resize_and_overwrite(had + room, [&](char* data, std::size_t) {
        n = ::read(fd, data + had, room);
        return had + static_cast<std::size_t>(std::max<ssize_t>(n, 0));
      });
    } else {
      n = ::read(fd, buffer, sizeof buffer);
      content.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      auto error = system_error("read", path);
      ::close(fd);
      return error;
    }
    if (n == 0) break;
  }
  ::close(fd);
  return content;
}

}  // namespace hekla
