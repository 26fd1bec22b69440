#include "model/time.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "model/instant.h"

namespace hekla::model {
namespace {

using std::chrono::days;
using std::chrono::seconds;

// Seconds since the epoch that a nanosecond WallTime can hold (years 1677 to 2262), rounded
// inwards.
constexpr std::int64_t kSecondsMax = INT64_MAX / 1'000'000'000 - 1;

// Reads exactly `width` digits at `at`; -1 when they are not digits.
int digits(std::string_view text, std::size_t at, std::size_t width) {
  if (at + width > text.size()) return -1;
  int number = 0;
  for (char c : text.substr(at, width)) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number;
}

std::unexpected<Error> bad_time(std::string_view text) {
  return fail(Code::bad_request, "cannot parse time \"" + std::string(text) + "\" as RFC 3339");
}

// The offset east of UTC in seconds, or nullopt; `text` is "Z" or "+hh:mm".
std::optional<int> parse_zone(std::string_view text) {
  if (text == "Z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const int hours = digits(text, 1, 2), minutes = digits(text, 4, 2);
  if (hours < 0 || hours > 24 || minutes < 0 || minutes > 60) return std::nullopt;
  return (text[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

// A write puts the same second into several places.
std::string format_seconds(std::chrono::sys_seconds whole) {
  thread_local std::optional<std::chrono::sys_seconds> formatted;
  thread_local std::string text;
  if (formatted == whole) return text;
  const auto day = std::chrono::floor<days>(whole);
  const std::chrono::year_month_day date{day};
  const auto second = static_cast<int>((whole - day).count());
  char made[40];
  const int size = std::snprintf(made, sizeof made, "%04d-%02u-%02uT%02d:%02d:%02d",
                                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                                 static_cast<unsigned>(date.day()), second / 3600, second / 60 % 60,
                                 second % 60);
  text.assign(made, static_cast<std::size_t>(size));
  formatted = whole;
  return text;
}

// With the point; empty when no digits are wanted.
std::string format_fraction(std::int32_t nanos, int width) {
  char text[16];
  std::snprintf(text, sizeof text, ".%09d", nanos);
  return {text, width == 0 ? 0 : static_cast<std::size_t>(width) + 1};
}

Instant instant_of(WallTime when) {
  const auto whole = std::chrono::floor<seconds>(when);
  return {whole.time_since_epoch().count(), static_cast<std::int32_t>((when - whole).count())};
}

template <class AnyTime>
Result<AnyTime> time_from(const json::Node& node) {
  AnyTime time;
  if (node.is_null()) return time;
  if (!node.is_string()) return fail(Code::bad_request, "expected a time as a string");
  const std::string_view text = node.get_string();
  // Go's zero time, which Go itself writes as null.
  if (text == "0001-01-01T00:00:00Z") return time;
  time.at = TRY(parse_rfc3339(text));
  return time;
}

// Writes a fraction v/10^precision without trailing zeros in front of `at`; returns the new start
// and leaves the whole part in v.
char* write_fraction(char* at, std::uint64_t& v, int precision) {
  bool print = false;
  for (int i = 0; i < precision; ++i) {
    const auto digit = static_cast<char>(v % 10);
    print = print || digit != 0;
    if (print) *--at = static_cast<char>('0' + digit);
    v /= 10;
  }
  if (print) *--at = '.';
  return at;
}

char* write_integer(char* at, std::uint64_t v) {
  do {
    *--at = static_cast<char>('0' + v % 10);
    v /= 10;
  } while (v > 0);
  return at;
}

struct Unit {
  std::string_view name;
  std::uint64_t nanos;
};
constexpr std::array kUnits{
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"\u00b5s", 1'000},  // micro sign
    Unit{"\u03bcs", 1'000},  // Greek mu
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"m", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
};
constexpr std::uint64_t kDurationLimit = std::uint64_t{1} << 63;

std::unexpected<Error> bad_duration(std::string_view text) {
  return fail(Code::bad_request, "time: invalid duration \"" + std::string(text) + "\"");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// One "<number><unit>" off the front of `rest`.
Result<std::uint64_t> parse_term(std::string_view& rest, std::string_view original) {
  std::uint64_t whole = 0, fraction = 0;
  double scale = 1;
  std::size_t i = 0;
  for (; i < rest.size() && is_digit(rest[i]); ++i) {
    if (whole > kDurationLimit / 10) return bad_duration(original);
    whole = whole * 10 + static_cast<std::uint64_t>(rest[i] - '0');
    if (whole > kDurationLimit) return bad_duration(original);
  }
  bool any = i > 0;
  if (i < rest.size() && rest[i] == '.') {
    bool overflow = false;  // further digits are below a nanosecond of anything
    for (++i; i < rest.size() && is_digit(rest[i]); ++i) {
      any = true;
      if (overflow || fraction > (kDurationLimit - 1) / 10) {
        overflow = true;
        continue;
      }
      fraction = fraction * 10 + static_cast<std::uint64_t>(rest[i] - '0');
      scale *= 10;
    }
  }
  if (!any) return bad_duration(original);
  rest.remove_prefix(i);
  std::size_t size = 0;
  while (size < rest.size() && rest[size] != '.' && !is_digit(rest[size])) ++size;
  const std::string_view name = rest.substr(0, size);
  if (name.empty())
    return fail(Code::bad_request,
                "time: missing unit in duration \"" + std::string(original) + "\"");
  rest.remove_prefix(size);
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    if (whole > kDurationLimit / unit.nanos) return bad_duration(original);
    whole *= unit.nanos;
    if (fraction > 0)
      whole += static_cast<std::uint64_t>(static_cast<double>(fraction) *
                                          (static_cast<double>(unit.nanos) / scale));
    if (whole > kDurationLimit) return bad_duration(original);
    return whole;
  }
  return fail(Code::bad_request, "time: unknown unit \"" + std::string(name) + "\" in duration \"" +
                                     std::string(original) + "\"");
}

std::string two_units(std::int64_t major, const char* major_unit, std::int64_t minor,
                      const char* minor_unit) {
  std::string text = std::to_string(major) + major_unit;
  if (minor != 0) text += std::to_string(minor) + minor_unit;
  return text;
}

}  // namespace

Result<Instant> parse_instant(std::string_view text) {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':')
    return bad_time(text);
  const int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const int hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (year < 0 || month < 0 || day < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 59)
    return bad_time(text);
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return bad_time(text);
  std::size_t at = 19;
  std::int64_t nanos = 0;
  if (text[at] == '.') {
    const std::size_t start = ++at;
    std::int64_t unit = 100'000'000;
    for (; at < text.size() && is_digit(text[at]); ++at, unit /= 10)
      nanos += unit * (text[at] - '0');
    if (at == start) return bad_time(text);
  }
  const std::optional<int> offset = parse_zone(text.substr(at));
  if (!offset) return bad_time(text);
  const std::int64_t since_epoch =
      std::chrono::sys_days(date).time_since_epoch().count() * 86'400LL + hour * 3600 +
      minute * 60 + second - *offset;
  return Instant{since_epoch, static_cast<std::int32_t>(nanos)};
}

std::string format_instant(Instant when, int digits) {
  return format_seconds(std::chrono::sys_seconds(seconds(when.seconds))) +
         format_fraction(when.nanos, digits) + "Z";
}

bool has_year(Instant when) {
  constexpr std::int64_t kYear1 = -62'135'596'800, kYear10000 = 253'402'300'800;
  return when.seconds >= kYear1 && when.seconds < kYear10000;
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  const Instant when = TRY(parse_instant(text));
  if (when.seconds > kSecondsMax) return WallTime(seconds(kSecondsMax));
  if (when.seconds < -kSecondsMax) return WallTime(seconds(-kSecondsMax));
  return WallTime(seconds(when.seconds) + Nanos(when.nanos));
}

std::string format_rfc3339(WallTime when) { return format_instant(instant_of(when), 0); }

std::string format_rfc3339_micro(WallTime when) { return format_instant(instant_of(when), 6); }

std::string format_rfc3339_nano(WallTime when) {
  std::string text = format_instant(instant_of(when), 9);
  text.pop_back();
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text + "Z";
}

Result<Time> Time::from_node(const json::Node& node) {
  Time time = TRY(time_from<Time>(node));
  if (time.at) time.at = std::chrono::floor<seconds>(*time.at);
  return time;
}

json::Value Time::to_json() const {
  return at ? json::Value(format_rfc3339(*at)) : json::Value(nullptr);
}

Result<MicroTime> MicroTime::from_node(const json::Node& node) {
  return time_from<MicroTime>(node);
}

json::Value MicroTime::to_json() const {
  return at ? json::Value(format_rfc3339_micro(*at)) : json::Value(nullptr);
}

std::string format_go_duration(Nanos duration) {
  char buffer[32];
  char* const end = buffer + sizeof buffer;
  char* at = end;
  const bool negative = duration.count() < 0;
  auto v = static_cast<std::uint64_t>(duration.count());
  if (negative) v = ~v + 1;
  if (v == 0) return "0s";
  *--at = 's';
  if (v < 1'000'000'000) {
    int precision = 0;
    if (v < 1'000) {
      *--at = 'n';
    } else if (v < 1'000'000) {
      precision = 3;
      *--at = '\xb5';  // U+00B5, last byte first
      *--at = '\xc2';
    } else {
      precision = 6;
      *--at = 'm';
    }
    at = write_fraction(at, v, precision);
    at = write_integer(at, v);
  } else {
    at = write_fraction(at, v, 9);
    at = write_integer(at, v % 60);
    v /= 60;
    if (v > 0) {
      *--at = 'm';
      at = write_integer(at, v % 60);
      v /= 60;
      if (v > 0) {
        *--at = 'h';
        at = write_integer(at, v);
      }
    }
  }
  if (negative) *--at = '-';
  return {at, end};
}

Result<Nanos> parse_go_duration(std::string_view text) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  if (rest == "0") return Nanos(0);
  if (rest.empty()) return bad_duration(text);
  std::uint64_t total = 0;
  while (!rest.empty()) {
    total += TRY(parse_term(rest, text));
    if (total > kDurationLimit) return bad_duration(text);
  }
  if (total == kDurationLimit && !negative) return bad_duration(text);
  return Nanos(static_cast<std::int64_t>(negative ? ~total + 1 : total));
}

// apimachinery's duration.HumanDuration.
std::string human_duration(Nanos duration) {
  const std::int64_t seconds_all = std::chrono::duration_cast<seconds>(duration).count();
  if (seconds_all < -1) return "<invalid>";  // more than clock skew
  if (seconds_all < 0) return "0s";
  if (seconds_all < 120) return std::to_string(seconds_all) + "s";
  const std::int64_t minutes = seconds_all / 60;
  if (minutes < 10) return two_units(minutes, "m", seconds_all % 60, "s");
  if (minutes < 180) return std::to_string(minutes) + "m";
  const std::int64_t hours = minutes / 60;
  if (hours < 8) return two_units(hours, "h", minutes % 60, "m");
  if (hours < 48) return std::to_string(hours) + "h";
  const std::int64_t days_all = hours / 24;
  if (hours < 24 * 8) return two_units(days_all, "d", hours % 24, "h");
  if (hours < 24 * 365 * 2) return std::to_string(days_all) + "d";
  if (hours < 24 * 365 * 8) return two_units(days_all / 365, "y", days_all % 365, "d");
  return std::to_string(days_all / 365) + "y";
}

}  // namespace hekla::model
