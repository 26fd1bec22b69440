#include "agent/logs/log_tail.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "agent/os/file_descriptor.h"
#include "kube/log_format.h"

namespace hekla::agent {
namespace {

using kube::LogRecord;
using kube::parse_log_record;

constexpr std::uint64_t kFirstTailBlock = 64 * 1024;

Result<std::string> read_at(int file, std::uint64_t offset, std::uint64_t size) {
  std::string out(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    ssize_t n = ::pread(file, out.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0) return errno_error("read a log");
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  out.resize(done);
  return out;
}

// `last`: nothing follows, so that a line without an end counts here.
Result<std::int64_t> count_lines(int file, bool last) {
  std::int64_t lines = 0;
  std::string rest;
  bool inside = false;
  for (std::uint64_t offset = 0;; offset += kFirstTailBlock) {
    const std::string text = TRY(read_at(file, offset, kFirstTailBlock));
    rest += text;
    std::size_t at = 0;
    for (std::size_t end = 0; (end = rest.find('\n', at)) != std::string::npos; at = end + 1) {
      std::optional<LogRecord> record =
          parse_log_record(std::string_view(rest).substr(at, end - at));
      if (!record) continue;
      inside = record->partial;
      if (!inside) ++lines;
    }
    rest.erase(0, at);
    if (text.size() < kFirstTailBlock) return lines + (inside && last ? 1 : 0);
  }
}

// Where the last `lines` begin, or what is left of a line that goes on in the next file.
Result<std::uint64_t> tail_offset(int file, std::int64_t lines, bool last) {
  struct stat info{};
  if (::fstat(file, &info) != 0) return errno_error("look at a log");
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (lines <= 0 && last) return size;
  // Ever longer ends of the file until one holds enough lines: the work is at most twice the
  // answer.
  for (std::uint64_t block = kFirstTailBlock;; block *= 2) {
    const std::uint64_t from = block >= size ? 0 : size - block;
    std::string text = TRY(read_at(file, from, size - from));
    // Offsets just behind the end of each full line; a record cut by the block's begin does not
    // count.
    std::vector<std::uint64_t> ends;
    std::size_t at = from == 0 ? 0 : text.find('\n') + 1;
    std::size_t last_record = at;
    while (at < text.size()) {
      std::size_t end = text.find('\n', at);
      if (end == std::string::npos) break;
      std::optional<LogRecord> record =
          parse_log_record(std::string_view(text).substr(at, end - at));
      if (record && !record->partial) ends.push_back(from + end + 1);
      at = end + 1;
      last_record = at;
    }
    // A line still being written is a line too.
    std::uint64_t full_end = ends.empty() ? from : ends.back();
    std::int64_t wanted = lines - (last && full_end < from + last_record ? 1 : 0);
    auto have = static_cast<std::int64_t>(ends.size());
    if (have > wanted) return ends[static_cast<std::size_t>(have - wanted - 1)];
    if (from == 0) return 0;
  }
}

}  // namespace

Result<std::vector<std::uint64_t>> tail_offsets(const std::vector<int>& files, std::int64_t lines) {
  std::vector<std::uint64_t> offsets;
  for (int file : files) {
    struct stat info{};
    if (::fstat(file, &info) != 0) return errno_error("look at a log");
    offsets.push_back(static_cast<std::uint64_t>(info.st_size));
  }
  bool last = true;
  for (std::size_t i = files.size(); i-- > 0;) {
    if (offsets[i] == 0) continue;
    offsets[i] = TRY(tail_offset(files[i], lines, last));
    if (offsets[i] > 0) break;
    lines -= TRY(count_lines(files[i], last));
    last = false;
  }
  return offsets;
}

}  // namespace hekla::agent
