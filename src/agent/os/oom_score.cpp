#include "agent/os/oom_score.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string>

#include "agent/os/file_descriptor.h"
#include "base/disk.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

std::string score_file(pid_t pid) { return "/proc/" + std::to_string(pid) + "/oom_score_adj"; }

}  // namespace

std::optional<int> oom_score(pid_t pid) {
  Result<std::string> text = read_file(score_file(pid));
  int score = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), score).ec != std::errc{})
    return std::nullopt;
  return score;
}

Result<void> set_oom_score(pid_t pid, int score) {
  const std::string path = score_file(pid), text = std::to_string(score);
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno_error("open " + path);
  if (::write(file.get(), text.data(), text.size()) >= 0) return {};
  if (errno != EACCES) return errno_error("write " + text + " to " + path);
  log_debug("agent", "the OOM score cannot be lowered without CAP_SYS_RESOURCE",
            {{"pid", std::to_string(pid)}, {"wanted", text}});
  return {};
}

}  // namespace hekla::agent
