#include "agent/os/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "agent/os/file_descriptor.h"

namespace hekla::agent {

Result<void> replace_file(const std::string& path, std::string_view content, unsigned mode) {
  const std::string temporary = path + ".tmp";
  FileDescriptor file(
      ::open(temporary.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno_error("create " + temporary);
  while (!content.empty()) {
    ssize_t n = ::write(file.get(), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("write " + temporary);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fchmod(file.get(), mode) != 0) return errno_error("chmod " + temporary);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return errno_error("rename " + temporary);
  return {};
}

namespace {

Result<std::string> read_from(const FileDescriptor& file, const std::string& path, off_t offset,
                              std::size_t limit) {
  std::string content(limit, '\0');
  std::size_t done = 0;
  while (done < limit) {
    ssize_t n =
        ::pread(file.get(), content.data() + done, limit - done, offset + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read " + path);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  content.resize(done);
  return content;
}

}  // namespace

Result<std::string> read_beginning(const std::string& path, std::size_t limit) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_error("open " + path);
  return read_from(file, path, 0, limit);
}

Result<std::string> read_end(const std::string& path, std::size_t limit) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_error("open " + path);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return errno_error("look at " + path);
  return read_from(file, path, std::max<off_t>(0, info.st_size - static_cast<off_t>(limit)), limit);
}

}  // namespace hekla::agent
