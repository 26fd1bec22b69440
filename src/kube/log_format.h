// Container logs in the CRI format (`<RFC 3339> stdout F text`, P for a part of a line), as conmon
// writes them, turned into what kubectl logs prints. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace hekla::kube {

struct LogRecord {
  std::string_view time, stream, text;
  bool partial = false;
};
// One record without its line end; nothing when it is not in the format.
std::optional<LogRecord> parse_log_record(std::string_view line);

struct LogFormat {
  bool timestamps = false;
  std::optional<WallTime> since;
  std::optional<std::int64_t> limit_bytes;
  std::string stream;  // stdout or stderr; empty: both
};

// Fed with the file's bytes in order, in pieces of any size.
class LogFormatter {
 public:
  explicit LogFormatter(LogFormat format) : format_(format), left_(format.limit_bytes) {}
  std::string feed(std::string_view bytes);
  // True once limit_bytes have been put out.
  bool is_full() const { return left_ && *left_ <= 0; }

 private:
  void put(std::string_view line, std::string& out);
  LogFormat format_;
  std::optional<std::int64_t> left_;
  std::string rest_;  // the beginning of a record whose end has not come yet
  bool inside_line_ = false;
};

}  // namespace hekla::kube
