// Cron schedules, as far as a write needs them: is it one?
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules/batch_rules.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

struct Bounds {
  int low, high;
  std::vector<std::string_view> names;
};

const std::array<Bounds, 5>& all_bounds() {
  static const std::array<Bounds, 5> bounds{{
      {0, 59, {}},
      {0, 23, {}},
      {1, 31, {}},
      {1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
      {0, 6, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
  }};
  return bounds;
}

std::vector<std::string> split(std::string_view text, auto&& is_separator) {
  std::vector<std::string> parts;
  std::string part;
  for (char c : text) {
    if (!is_separator(c)) {
      part += c;
    } else if (!part.empty()) {
      parts.push_back(std::exchange(part, {}));
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

// A number or a name; -1 with an error otherwise.
int value_of(std::string_view text, const Bounds& bounds, std::string& error) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::size_t i = 0; i < bounds.names.size(); ++i)
    if (lower == bounds.names[i]) return bounds.low + static_cast<int>(i);
  int value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) {
    error = "failed to parse int from " + std::string(text) + ": strconv.Atoi: parsing \"" +
            std::string(text) + "\": invalid syntax";
    return -1;
  }
  if (value < 0)
    error = "negative number (" + std::to_string(value) + ") not allowed: " + std::string(text);
  return value;
}

std::string range_error(std::string_view expression, const Bounds& bounds) {
  std::string error;
  std::string_view range = expression, step;
  if (std::size_t slash = expression.find('/'); slash != std::string_view::npos) {
    range = expression.substr(0, slash);
    step = expression.substr(slash + 1);
    if (step.find('/') != std::string_view::npos)
      return "too many slashes: " + std::string(expression);
    int by = value_of(step, {0, 0, {}}, error);
    if (!error.empty()) return error;
    if (by == 0) return "step of range should be a positive number: " + std::string(expression);
  }
  if (range == "*" || range == "?") return "";
  std::size_t dash = range.find('-');
  int low = value_of(range.substr(0, dash), bounds, error);
  if (!error.empty()) return error;
  int high = low;
  if (dash != std::string_view::npos) {
    std::string_view rest = range.substr(dash + 1);
    if (rest.find('-') != std::string_view::npos)
      return "too many hyphens: " + std::string(expression);
    high = value_of(rest, bounds, error);
    if (!error.empty()) return error;
  }
  if (low < bounds.low)
    return "beginning of range (" + std::to_string(low) + ") below minimum (" +
           std::to_string(bounds.low) + "): " + std::string(expression);
  if (high > bounds.high)
    return "end of range (" + std::to_string(high) + ") above maximum (" +
           std::to_string(bounds.high) + "): " + std::string(expression);
  if (low > high)
    return "beginning of range (" + std::to_string(low) + ") beyond end of range (" +
           std::to_string(high) + "): " + std::string(expression);
  return "";
}

std::string descriptor_error(std::string_view text) {
  for (std::string_view known :
       {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
    if (text == known) return "";
  if (text.starts_with("@every ")) {
    if (model::parse_go_duration(text.substr(7))) return "";
    return "failed to parse duration " + std::string(text) + ": time: invalid duration \"" +
           std::string(text.substr(7)) + "\"";
  }
  return "unrecognized descriptor: " + std::string(text);
}

}  // namespace

std::string schedule_error(std::string_view schedule) {
  if (schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ="))
    schedule = schedule.substr(std::min(schedule.find(' '), schedule.size()));
  while (schedule.starts_with(' ')) schedule.remove_prefix(1);
  if (schedule.starts_with('@')) return descriptor_error(schedule);
  std::vector<std::string> fields = split(schedule, [](char c) { return c == ' ' || c == '\t'; });
  if (fields.size() != 5)
    return "expected exactly 5 fields, found " + std::to_string(fields.size()) + ": [" +
           join(fields, " ") + "]";
  for (std::size_t i = 0; i < 5; ++i)
    for (const std::string& expression : split(fields[i], [](char c) { return c == ','; }))
      if (std::string error = range_error(expression, all_bounds()[i]); !error.empty())
        return error;
  return "";
}

}  // namespace hekla::apiserver
