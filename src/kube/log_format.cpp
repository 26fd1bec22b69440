#include "kube/log_format.h"

#include <algorithm>

#include "base/result.h"
#include "model/time.h"

namespace hekla::kube {

std::optional<LogRecord> parse_log_record(std::string_view line) {
  LogRecord record;
  std::string_view tag;
  for (std::string_view* field : {&record.time, &record.stream, &tag}) {
    std::size_t space = line.find(' ');
    if (space == std::string_view::npos) {
      // An empty text may come without the last blank.
      if (field != &tag) return std::nullopt;
      *field = line;
      line = {};
      break;
    }
    *field = line.substr(0, space);
    line.remove_prefix(space + 1);
  }
  if (tag.empty() || (tag[0] != 'F' && tag[0] != 'P')) return std::nullopt;
  record.partial = tag[0] == 'P';
  record.text = line;
  return record;
}

std::string LogFormatter::feed(std::string_view bytes) {
  std::string out;
  while (!bytes.empty() && !is_full()) {
    std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      rest_ += bytes;
      break;
    }
    if (rest_.empty()) {
      put(bytes.substr(0, end), out);
    } else {
      rest_ += bytes.substr(0, end);
      put(rest_, out);
      rest_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
  return out;
}

void LogFormatter::put(std::string_view line, std::string& out) {
  std::optional<LogRecord> record = parse_log_record(line);
  if (!record || (!format_.stream.empty() && record->stream != format_.stream)) return;
  if (format_.since) {
    Result<WallTime> when = model::parse_rfc3339(record->time);
    if (!when || *when < *format_.since) return;
  }
  std::string text;
  if (format_.timestamps && !inside_line_) {
    Result<WallTime> when = model::parse_rfc3339(record->time);
    text = (when ? model::format_rfc3339_nano(*when) : std::string(record->time)) + " ";
  }
  text += record->text;
  if (!record->partial) text += '\n';
  inside_line_ = record->partial;
  if (left_) {
    text.resize(std::min<std::size_t>(text.size(), static_cast<std::size_t>(*left_)));
    *left_ -= static_cast<std::int64_t>(text.size());
  }
  out += text;
}

}  // namespace hekla::kube
