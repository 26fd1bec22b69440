#include "base/rotating_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

namespace hekla {
namespace {

std::unexpected<Error> file_error(const std::string& attempt, const std::string& path) {
  return fail(Code::internal, attempt + " " + path + ": " + std::strerror(errno));
}

Result<int> open_for_append(const std::string& path) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return file_error("open", path);
  return fd;
}

// "dir/audit" and ".log".
std::pair<std::string, std::string> split_extension(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string extension = whole.extension().string();
  return {path.substr(0, path.size() - extension.size()), extension};
}

std::string stamp(WallTime now) {
  const auto since = now.time_since_epoch();
  const std::time_t second = std::chrono::duration_cast<std::chrono::seconds>(since).count();
  const long milli = static_cast<long>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count() % 1000);
  std::tm parts{};
  gmtime_r(&second, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d-%02d-%02d.%03ld", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, milli);
  return text;
}

// Whether a file was put aside by rotate(), and is not another log whose name begins alike.
bool is_aside(std::string_view file, std::string_view begin, std::string_view extension) {
  constexpr std::string_view kShape = "0000-00-00T00-00-00.000";
  if (file.size() != begin.size() + kShape.size() + extension.size()) return false;
  if (!file.starts_with(begin) || !file.ends_with(extension)) return false;
  return std::ranges::equal(
      file.substr(begin.size(), kShape.size()), kShape,
      [](char c, char shape) { return shape == '0' ? c >= '0' && c <= '9' : c == shape; });
}

}  // namespace

Result<std::unique_ptr<RotatingFile>> RotatingFile::open(std::string path, RotationOptions options,
                                                         const Clock& clock) {
  if (path == "-")
    return std::make_unique<RotatingFile>(std::move(path), options, clock, STDOUT_FILENO, 0);
  std::error_code error;
  if (const auto parent = std::filesystem::path(path).parent_path(); !parent.empty())
    std::filesystem::create_directories(parent, error);
  int fd = TRY(open_for_append(path));
  struct stat found{};
  const std::uint64_t bytes =
      ::fstat(fd, &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
  return std::make_unique<RotatingFile>(std::move(path), options, clock, fd, bytes);
}

RotatingFile::~RotatingFile() {
  if (path_ != "-") ::close(fd_);
}

Result<void> RotatingFile::append(std::string_view line) {
  std::lock_guard lock(mutex_);
  if (path_ != "-" && bytes_ > 0 && bytes_ + line.size() > options_.max_bytes) TRY(rotate());
  bytes_ += line.size();
  while (!line.empty()) {
    ssize_t written = ::write(fd_, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_error("write", path_);
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> RotatingFile::rotate() {
  auto [name, extension] = split_extension(path_);
  const std::string aside = name + "-" + stamp(clock_.wall()) + extension;
  if (::rename(path_.c_str(), aside.c_str()) != 0) return file_error("rename", path_);
  Result<int> fd = open_for_append(path_);
  if (!fd) {
    // Back under its name: the lines go on in it, and the next one tries again.
    ::rename(aside.c_str(), path_.c_str());
    return {};
  }
  ::close(fd_);
  fd_ = *fd;
  bytes_ = 0;
  remove_old();
  return {};
}

void RotatingFile::remove_old() const {
  auto [name, extension] = split_extension(path_);
  const std::filesystem::path whole(name);
  const std::string begin = whole.filename().string() + "-";
  const std::string oldest = options_.max_age.count() > 0
                                 ? begin + stamp(clock_.wall() - options_.max_age)
                                 : std::string();
  std::vector<std::string> aside;
  std::error_code error;
  const std::filesystem::path directory = whole.has_parent_path() ? whole.parent_path() : ".";
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    std::string file = entry.path().filename().string();
    if (is_aside(file, begin, extension)) aside.push_back(std::move(file));
  }
  std::sort(aside.rbegin(), aside.rend());  // the stamps sort by time
  for (std::size_t i = 0; i < aside.size(); ++i) {
    const bool too_many =
        options_.max_backups > 0 && i >= static_cast<std::size_t>(options_.max_backups);
    if (too_many || aside[i] < oldest) std::filesystem::remove(directory / aside[i], error);
  }
}

}  // namespace hekla
