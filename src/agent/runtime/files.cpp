#include "agent/runtime/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "agent/runtime/file_descriptor.h"

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

}  // namespace hekla::agent
