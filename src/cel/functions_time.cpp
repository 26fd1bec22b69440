// Parts of timestamps and durations.
#include <charconv>

#include "cel/functions.h"
#include "model/cron.h"

namespace hekla::cel {
namespace {

using Int = std::int64_t;
using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// "+05:30", "-08:00", "2:30", or a name of the time zone database.
Result<seconds> offset_of(std::string_view zone, WallTime at) {
  if (zone.empty()) return seconds(0);
  const std::size_t colon = zone.find(':');
  if (colon == std::string_view::npos) {
    const std::optional<seconds> offset = model::zone_offset(at, std::string(zone));
    if (!offset) return cel_error("unknown time zone " + std::string(zone));
    return *offset;
  }
  const bool negative = zone[0] == '-';
  const std::size_t first = negative || zone[0] == '+' ? 1 : 0;
  int hour = 0, minute = 0;
  auto number = [&](std::string_view text, int& out) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() && out >= 0;
  };
  if (!number(zone.substr(first, colon - first), hour) || !number(zone.substr(colon + 1), minute) ||
      hour > 24 || minute > 59)
    return cel_error("unknown time zone " + std::string(zone));
  const minutes amount(hour * 60 + minute);
  return negative ? -amount : amount;
}

enum class Part {
  year,
  month,
  day_of_month,
  day,
  day_of_week,
  day_of_year,
  hour,
  minute,
  second,
  millisecond
};

Int part_of(Part part, WallTime at) {
  const auto day = std::chrono::floor<days>(at);
  const std::chrono::year_month_day date(day);
  const Nanos within = at - day;
  switch (part) {
    case Part::year:
      return static_cast<int>(date.year());
    case Part::month:
      return Int{static_cast<unsigned>(date.month())} - 1;
    case Part::day_of_month:
      return Int{static_cast<unsigned>(date.day())} - 1;
    case Part::day:
      return Int{static_cast<unsigned>(date.day())};
    case Part::day_of_week:
      return Int{std::chrono::weekday(day).c_encoding()};
    case Part::day_of_year:
      return (day - std::chrono::sys_days(date.year() / std::chrono::January / 1)).count();
    case Part::hour:
      return std::chrono::floor<hours>(within).count();
    case Part::minute:
      return std::chrono::floor<minutes>(within).count() % 60;
    case Part::second:
      return std::chrono::floor<seconds>(within).count() % 60;
    case Part::millisecond:
      return std::chrono::floor<std::chrono::milliseconds>(within).count() % 1000;
  }
  return 0;
}

template <Part part>
Result<Value> time_part(Arguments a, Budget&) {
  const WallTime at = a[0].get<Timestamp>().at;
  seconds offset{0};
  if (a.size() > 1) offset = TRY(offset_of(a[1].view(), at));
  return Value(part_of(part, at + offset));
}

template <class Unit>
Result<Value> duration_in(Arguments a, Budget&) {
  return Value(Int{std::chrono::duration_cast<Unit>(a[0].get<Duration>().nanos).count()});
}

#define HEKLA_CEL_TIME(name, part)                        \
  {name, true, "(timestamp) int", time_part<part>}, {     \
    name, true, "(timestamp,string) int", time_part<part> \
  }

constexpr FunctionEntry kTimes[] = {
    HEKLA_CEL_TIME("getFullYear", Part::year),
    HEKLA_CEL_TIME("getMonth", Part::month),
    HEKLA_CEL_TIME("getDayOfMonth", Part::day_of_month),
    HEKLA_CEL_TIME("getDate", Part::day),
    HEKLA_CEL_TIME("getDayOfWeek", Part::day_of_week),
    HEKLA_CEL_TIME("getDayOfYear", Part::day_of_year),
    HEKLA_CEL_TIME("getHours", Part::hour),
    HEKLA_CEL_TIME("getMinutes", Part::minute),
    HEKLA_CEL_TIME("getSeconds", Part::second),
    HEKLA_CEL_TIME("getMilliseconds", Part::millisecond),
    {"getHours", true, "(duration) int", duration_in<hours>},
    {"getMinutes", true, "(duration) int", duration_in<minutes>},
    {"getSeconds", true, "(duration) int", duration_in<seconds>},
    {"getMilliseconds", true, "(duration) int", duration_in<std::chrono::milliseconds>},
};
#undef HEKLA_CEL_TIME

}  // namespace

std::span<const FunctionEntry> time_functions() { return kTimes; }

}  // namespace hekla::cel
