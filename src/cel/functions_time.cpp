// Parts of timestamps and durations.
#include "cel/functions.h"

namespace hekla::cel {
namespace {

using Int = std::int64_t;
using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// "UTC", "", "+05:30" or "-08:00"; the names of the time zone database are not known here.
Result<minutes> offset_of(std::string_view zone) {
  if (zone.empty() || zone == "UTC" || zone == "Z") return minutes(0);
  const bool signed_zone = zone[0] == '+' || zone[0] == '-';
  std::string_view digits = signed_zone ? zone.substr(1) : zone;
  auto digit = [&](std::size_t i) { return digits[i] >= '0' && digits[i] <= '9'; };
  if (digits.size() != 5 || digits[2] != ':' || !digit(0) || !digit(1) || !digit(3) || !digit(4))
    return cel_error("unknown time zone " + std::string(zone));
  const int amount = (digits[0] - '0') * 600 + (digits[1] - '0') * 60 + (digits[3] - '0') * 10 + (digits[4] - '0');
  return minutes(zone[0] == '-' ? -amount : amount);
}

enum class Part { year, month, day_of_month, day, day_of_week, day_of_year, hour, minute, second, millisecond };

Int part_of(Part part, WallTime at) {
  const auto day = std::chrono::floor<days>(at);
  const std::chrono::year_month_day date(day);
  const Nanos within = at - day;
  switch (part) {
    case Part::year: return static_cast<int>(date.year());
    case Part::month: return Int{static_cast<unsigned>(date.month())} - 1;
    case Part::day_of_month: return Int{static_cast<unsigned>(date.day())} - 1;
    case Part::day: return Int{static_cast<unsigned>(date.day())};
    case Part::day_of_week: return Int{std::chrono::weekday(day).c_encoding()};
    case Part::day_of_year:
      return (day - std::chrono::sys_days(date.year() / std::chrono::January / 1)).count();
    case Part::hour: return std::chrono::floor<hours>(within).count();
    case Part::minute: return std::chrono::floor<minutes>(within).count() % 60;
    case Part::second: return std::chrono::floor<seconds>(within).count() % 60;
    case Part::millisecond:
      return std::chrono::floor<std::chrono::milliseconds>(within).count() % 1000;
  }
  return 0;
}

template <Part part>
Result<Value> time_part(Arguments a, Budget&) {
  minutes offset{0};
  if (a.size() > 1) offset = TRY(offset_of(a[1].view()));
  return Value(part_of(part, a[0].get<Timestamp>().at + offset));
}

template <class Unit>
Result<Value> duration_in(Arguments a, Budget&) {
  return Value(Int{std::chrono::duration_cast<Unit>(a[0].get<Duration>().nanos).count()});
}

#define HEKLA_CEL_TIME(name, part)                                 \
  {name, true, "(timestamp) int", time_part<part>}, {              \
    name, true, "(timestamp,string) int", time_part<part>          \
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
