// Times as they are written, of any year.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hekla::model {

// A WallTime reaches from 1677 to 2262; what only passes through (the API server's times) must come
// out as it went in.
struct Instant {
  std::int64_t seconds = 0;  // since 1970
  std::int32_t nanos = 0;    // 0 to 999,999,999
  bool operator==(const Instant&) const = default;
};
Result<Instant> parse_instant(std::string_view text);  // any fraction, Z or an offset
std::string format_instant(Instant when, int digits);  // of a second, and Z
bool has_year(Instant when);                           // 1 to 9999, which is what can be written

}  // namespace hekla::model
