#include "json/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>

namespace hekla::json {
namespace {

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Go's strconv.ParseInt and ParseUint with base 0; the sign is only for the signed one.
std::optional<Value> parse_integer(std::string_view text) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  const bool has_sign = negative || digits.starts_with('+');
  if (has_sign) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char marker = static_cast<char>(digits[1] | 0x20);
    base = marker == 'x' ? 16 : marker == 'b' ? 2 : 8;
    digits.remove_prefix(marker == 'x' || marker == 'b' || marker == 'o' ? 2 : 1);
  }
  if (digits.empty() || digits[0] == '-') return std::nullopt;
  std::uint64_t magnitude = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, magnitude, base);
  if (error != std::errc{} || at != end) return std::nullopt;
  constexpr auto kMax = static_cast<std::uint64_t>(INT64_MAX);
  if (negative) {
    if (magnitude > kMax + 1) return std::nullopt;
    return Value(static_cast<std::int64_t>(~magnitude + 1));
  }
  if (magnitude <= kMax) return Value(static_cast<std::int64_t>(magnitude));
  if (has_sign) return std::nullopt;
  return Value(magnitude);
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool looks_like_float(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t start = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - start;
  };
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  const std::size_t whole = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0 && whole == 0) return false;
  } else if (whole == 0) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

// Nothing for what overflows a double: go-yaml leaves such a text a string.
std::optional<double> parse_float(std::string_view text) {
  if (!looks_like_float(text)) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec == std::errc{}) return number;
  const bool underflow = text.find("e-") != text.npos || text.find("E-") != text.npos;
  return underflow ? std::optional<double>(0.0) : std::nullopt;
}

std::optional<double> special_float(std::string_view text) {
  if (one_of(text, {".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (!one_of(text, {".inf", ".Inf", ".INF"})) return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  return negative ? -infinity : infinity;
}

// Takes one or two digits (or exactly `width`) off the front; -1 when there are none.
int take_number(std::string_view& text, std::size_t width = 0) {
  std::size_t size = 0;
  while (size < text.size() && size < (width == 0 ? 2 : width) && is_digit(text[size])) ++size;
  if (size == 0 || (width != 0 && size != width)) return -1;
  int number = 0;
  for (char c : text.substr(0, size)) number = number * 10 + (c - '0');
  text.remove_prefix(size);
  return number;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

bool is_zone(std::string_view text) {
  if (text == "Z") return true;
  if (!take(text, '+') && !take(text, '-')) return false;
  const int hours = take_number(text, 2);
  if (hours < 0 || hours > 24 || !take(text, ':')) return false;
  const int minutes = take_number(text, 2);
  return minutes >= 0 && minutes < 60 && text.empty();
}

// A float without a fraction is written to JSON, and so read, as an integer.
Value json_number(double number) {
  if (number == std::floor(number) && std::fabs(number) < 0x1p63)
    return Value(static_cast<std::int64_t>(number));
  return Value(number);
}

}  // namespace

YamlScalar resolve_yaml_scalar(std::string_view text) {
  if (one_of(text, {"", "~", "null", "Null", "NULL"})) return {YamlTag::null, Value(nullptr)};
  const char first = text[0];
  if (std::string_view("yYnNtTfFoO").find(first) != std::string_view::npos) {
    if (one_of(text, {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}))
      return {YamlTag::boolean, Value(true)};
    if (one_of(text, {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}))
      return {YamlTag::boolean, Value(false)};
    return {};
  }
  if (!is_digit(first) && first != '.' && first != '+' && first != '-') return {};
  if (const auto number = special_float(text)) return {YamlTag::floating, Value(*number)};
  if (first == '.') {
    if (const auto number = parse_float(text)) return {YamlTag::floating, json_number(*number)};
    return {};
  }
  std::string plain;
  std::ranges::copy_if(text, std::back_inserter(plain), [](char c) { return c != '_'; });
  if (auto number = parse_integer(plain)) return {YamlTag::integer, std::move(*number)};
  if (const auto number = parse_float(plain)) return {YamlTag::floating, json_number(*number)};
  return {};
}

bool is_yaml_timestamp(std::string_view text) {
  const int year = take_number(text, 4);
  if (year < 0 || !take(text, '-')) return false;
  const int month = take_number(text);
  if (month < 0 || !take(text, '-')) return false;
  const int day = take_number(text);
  if (day < 0) return false;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return false;
  if (text.empty()) return true;
  const bool zoned = text[0] == 'T' || text[0] == 't';
  if (!zoned && text[0] != ' ') return false;
  text.remove_prefix(1);
  const int hour = take_number(text);
  if (hour < 0 || hour > 23 || !take(text, ':')) return false;
  const int minute = take_number(text);
  if (minute < 0 || minute > 59 || !take(text, ':')) return false;
  const int second = take_number(text);
  if (second < 0 || second > 59) return false;
  if (take(text, '.') || take(text, ',')) {
    if (take_number(text) < 0) return false;
    while (!text.empty() && is_digit(text[0])) text.remove_prefix(1);
  }
  return zoned ? is_zone(text) : text.empty();
}

std::string_view yaml_tag_name(YamlTag tag) {
  switch (tag) {
    case YamlTag::string:
      return "!!str";
    case YamlTag::null:
      return "!!null";
    case YamlTag::boolean:
      return "!!bool";
    case YamlTag::integer:
      return "!!int";
    case YamlTag::floating:
      return "!!float";
  }
  return "!!str";
}

}  // namespace hekla::json
