#include "model/cron.h"

#include <date/tz.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "model/time.h"

namespace hekla::model {
namespace {

constexpr std::int64_t kMinutesPerDay = 24 * 60;
constexpr std::int64_t kDaysAhead = 5 * 366;

const date::time_zone* find_zone(const std::string& name) {
  try {
    return date::locate_zone(name);
  } catch (const std::exception&) {  // the library knows no other way to say no
    return nullptr;
  }
}

struct Bounds {
  int least, most;
  std::string_view names;  // three letters each, from `least` on
};
constexpr std::array<Bounds, 5> kBounds{{{0, 59, ""},
                                         {0, 23, ""},
                                         {1, 31, ""},
                                         {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
                                         {0, 6, "sunmontuewedthufrisat"}}};

std::optional<int> parse_cron_value(std::string_view text, const Bounds& bounds) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  if (text.size() != 3) return std::nullopt;
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (std::size_t i = 0; i + 3 <= bounds.names.size(); i += 3)
    if (bounds.names.substr(i, 3) == lower) return bounds.least + static_cast<int>(i / 3);
  return std::nullopt;
}

// One of the comma-separated parts: *, a, a-b, and each with /step.
Result<std::uint64_t> parse_cron_range(std::string_view text, const Bounds& bounds, bool& any) {
  auto wrong = [&] { return fail(Code::invalid, "failed to parse " + std::string(text)); };
  std::size_t slash = text.find('/');
  std::string_view range = text.substr(0, slash);
  int first = bounds.least, last = bounds.most, step = 1;
  if (range == "*" || range == "?") {
    any = any || slash == std::string_view::npos;
  } else {
    std::size_t dash = range.find('-');
    std::optional<int> from = parse_cron_value(range.substr(0, dash), bounds);
    if (!from) return wrong();
    first = *from;
    if (dash != std::string_view::npos) {
      std::optional<int> to = parse_cron_value(range.substr(dash + 1), bounds);
      if (!to) return wrong();
      last = *to;
    } else if (slash == std::string_view::npos) {
      last = first;
    }
  }
  if (slash != std::string_view::npos) {
    std::optional<int> given = parse_cron_value(text.substr(slash + 1), Bounds{0, 0, ""});
    if (!given) return wrong();
    step = *given;
  }
  if (first < bounds.least)
    return fail(Code::invalid, "beginning of range (" + std::to_string(first) +
                                   ") below minimum (" + std::to_string(bounds.least) +
                                   "): " + std::string(text));
  if (last > bounds.most)
    return fail(Code::invalid, "end of range (" + std::to_string(last) + ") above maximum (" +
                                   std::to_string(bounds.most) + "): " + std::string(text));
  if (first > last)
    return fail(Code::invalid, "beginning of range (" + std::to_string(first) +
                                   ") beyond end of range (" + std::to_string(last) +
                                   "): " + std::string(text));
  if (step <= 0)
    return fail(Code::invalid, "step of range should be a positive number: " + std::string(text));
  std::uint64_t bits = 0;
  for (int i = first; i <= last; i += step) bits |= std::uint64_t{1} << i;
  return bits;
}

Result<std::uint64_t> parse_cron_field(std::string_view text, const Bounds& bounds, bool& any) {
  std::uint64_t bits = 0;
  while (true) {
    std::size_t comma = text.find(',');
    bits |= TRY(parse_cron_range(text.substr(0, comma), bounds, any));
    if (comma == std::string_view::npos) return bits;
    text.remove_prefix(comma + 1);
  }
}

std::vector<std::string_view> cron_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::string_view descriptor_fields(std::string_view name) {
  if (name == "@yearly" || name == "@annually") return "0 0 1 1 *";
  if (name == "@monthly") return "0 0 1 * *";
  if (name == "@weekly") return "0 0 * * 0";
  if (name == "@daily" || name == "@midnight") return "0 0 * * *";
  if (name == "@hourly") return "0 * * * *";
  return {};
}

bool has_bit(std::uint64_t bits, std::int64_t at) { return (bits >> at & 1) != 0; }

std::int64_t floor_minutes(WallTime when) {
  return std::chrono::floor<std::chrono::minutes>(when.time_since_epoch()).count();
}

}  // namespace

Result<CronSchedule> CronSchedule::parse(std::string_view text, const std::string& zone) {
  CronSchedule schedule;
  if (!zone.empty()) schedule.zone_ = zone;
  if (!find_zone(schedule.zone_)) return fail(Code::invalid, "unknown time zone " + zone);
  if (text.starts_with("@every ")) {
    Nanos every = TRY(parse_go_duration(text.substr(7)));
    every = std::chrono::floor<std::chrono::seconds>(every);
    schedule.every_ = std::max(every, Nanos(std::chrono::seconds(1)));
    return schedule;
  }
  if (text.starts_with('@')) {
    std::string_view fields = descriptor_fields(text);
    if (fields.empty()) return fail(Code::invalid, "unrecognized descriptor: " + std::string(text));
    text = fields;
  }
  std::vector<std::string_view> words = cron_words(text);
  if (words.size() != 5)
    return fail(Code::invalid, "expected exactly 5 fields, found " + std::to_string(words.size()) +
                                   ": [" + std::string(text) + "]");
  bool ignored = false;
  schedule.minutes_ = TRY(parse_cron_field(words[0], kBounds[0], ignored));
  schedule.hours_ = TRY(parse_cron_field(words[1], kBounds[1], ignored));
  schedule.days_ = TRY(parse_cron_field(words[2], kBounds[2], schedule.any_day_));
  schedule.months_ = TRY(parse_cron_field(words[3], kBounds[3], ignored));
  schedule.weekdays_ = TRY(parse_cron_field(words[4], kBounds[4], schedule.any_weekday_));
  return schedule;
}

bool CronSchedule::day_matches(std::int64_t local_day) const {
  date::sys_days day{date::days(local_day)};
  date::year_month_day calendar(day);
  if (!has_bit(months_, static_cast<unsigned>(calendar.month()))) return false;
  bool of_month = has_bit(days_, static_cast<unsigned>(calendar.day()));
  bool of_week = has_bit(weekdays_, date::weekday(day).c_encoding());
  // Two restrictions are alternatives; a star next to one leaves it alone.
  return any_day_ || any_weekday_ ? of_month && of_week : of_month || of_week;
}

std::optional<std::int64_t> CronSchedule::next_local(std::int64_t local, std::int64_t end) const {
  while (local < end) {
    std::int64_t day =
        local >= 0 ? local / kMinutesPerDay : (local - kMinutesPerDay + 1) / kMinutesPerDay;
    std::int64_t minute = local - day * kMinutesPerDay;
    if (!day_matches(day))
      local = (day + 1) * kMinutesPerDay;
    else if (!has_bit(hours_, minute / 60))
      local = day * kMinutesPerDay + (minute / 60 + 1) * 60;
    else if (!has_bit(minutes_, minute % 60))
      ++local;
    else
      return local;
  }
  return std::nullopt;
}

std::optional<WallTime> CronSchedule::next(WallTime after) const {
  if (every_ > Nanos(0)) return std::chrono::floor<std::chrono::seconds>(after) + every_;
  const date::time_zone* zone = find_zone(zone_);
  if (!zone) return std::nullopt;
  std::int64_t minute = floor_minutes(after) + 1;
  std::int64_t limit = minute + kDaysAhead * kMinutesPerDay;
  while (minute < limit) {
    // Between two changes of the clocks local time runs evenly.
    date::sys_seconds at{
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::minutes(minute))};
    date::sys_info info = zone->get_info(at);
    std::int64_t offset = std::chrono::duration_cast<std::chrono::minutes>(info.offset).count();
    std::int64_t end = std::min<std::int64_t>(
        limit, std::chrono::floor<std::chrono::minutes>(info.end.time_since_epoch()).count());
    if (auto local = next_local(minute + offset, end + offset))
      return WallTime(std::chrono::minutes(*local - offset));
    minute = std::max(end, minute + 1);
  }
  return std::nullopt;
}

std::optional<CronSchedule::Missed> CronSchedule::missed(WallTime from, WallTime to) const {
  std::optional<Missed> found;
  int count = 0;
  for (std::optional<WallTime> at = next(from); at && *at <= to; at = next(*at)) {
    found = Missed{*at, ++count > 100};
    if (!found->too_many) continue;
    // Only the last one matters: look for it from the end.
    for (std::int64_t hours = 1;; hours *= 4) {
      WallTime start = to - std::chrono::hours(hours);
      if (start <= *at) start = *at;
      for (std::optional<WallTime> late = next(start); late && *late <= to; late = next(*late))
        found->last = *late;
      if (found->last > *at || start == *at) return found;
    }
  }
  return found;
}

bool is_time_zone(const std::string& zone) { return find_zone(zone) != nullptr; }

std::optional<std::chrono::seconds> zone_offset(WallTime when, const std::string& zone) {
  const date::time_zone* found = find_zone(zone);
  if (!found) return std::nullopt;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(when);
  return found->get_info(date::sys_seconds(seconds.time_since_epoch())).offset;
}

std::string format_in_zone(WallTime when, const std::string& zone) {
  const date::time_zone* found = find_zone(zone.empty() ? "UTC" : zone);
  if (!found) return format_rfc3339(when);
  auto seconds = std::chrono::floor<std::chrono::seconds>(when);
  date::sys_info info = found->get_info(date::sys_seconds(seconds.time_since_epoch()));
  if (info.offset == std::chrono::seconds(0)) return format_rfc3339(when);
  std::string text = format_rfc3339(when + info.offset);
  text.pop_back();
  std::int64_t minutes = std::chrono::duration_cast<std::chrono::minutes>(info.offset).count();
  char sign = minutes < 0 ? '-' : '+';
  minutes = minutes < 0 ? -minutes : minutes;
  char offset[16];
  std::snprintf(offset, sizeof offset, "%c%02d:%02d", sign, static_cast<int>(minutes / 60),
                static_cast<int>(minutes % 60));
  return text + offset;
}

}  // namespace hekla::model
