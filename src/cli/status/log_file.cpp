#include "cli/status/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/disk.h"

namespace hekla::cli {

Result<void> begin_log(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error)
    return fail(Code::internal, "create the directory of " + path + ": " + error.message());
  std::filesystem::rename(path, path + ".1", error);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return fail(Code::internal, "open " + path + ": " + std::strerror(errno));
  ::close(fd);
  return {};
}

std::string last_complaint(const std::string& path) {
  constexpr std::string_view kBegin = "hekla: ";
  const std::string text = read_file(path).value_or("");
  std::string found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (line.starts_with(kBegin)) found = line.substr(kBegin.size());
    at = end + 1;
  }
  return found;
}

}  // namespace hekla::cli
