// 'text with %s'.format([...]).
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "cel/functions.h"
#include "json/go_text.h"

namespace hekla::cel {
namespace {

using Int = std::int64_t;
using Kind = Value::Kind;

constexpr int kPrecision = 6;

std::unexpected<Error> misused(std::string_view clause, const Value& value) {
  return cel_error("error during formatting: " + std::string(clause) + ", was given " +
                   std::string(value.type_name()));
}

std::string fixed(double number, int digits) {
  char buffer[512];
  const int size = std::snprintf(buffer, sizeof buffer, "%.*f", digits, number);
  return {buffer, static_cast<std::size_t>(std::clamp(size, 0, 511))};
}

// Thousands are kept apart, as in English.
std::string grouped(std::string text) {
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  std::size_t at = std::min(text.find('.'), text.size());
  while (at > first + 3) text.insert(at -= 3, ",");
  return text;
}

// 1.500000×10⁻¹⁰: so the locale's printer has it, whatever the precision.
std::string scientific(double number) {
  static constexpr std::array<const char*, 10> kRaised{"⁰", "¹", "²", "³", "⁴",
                                                       "⁵", "⁶", "⁷", "⁸", "⁹"};
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*e", kPrecision, number);
  const std::string_view text = buffer;
  const std::size_t e = text.find('e');
  if (e == std::string_view::npos) return buffer;
  std::string out = std::string(text.substr(0, e)) + "×10";
  for (char c : text.substr(e + 1))
    if (c != '+') out += c == '-' ? "⁻" : kRaised[static_cast<std::size_t>(c - '0')];
  return out;
}

std::string in_base(std::uint64_t number, unsigned base, bool upper) {
  std::string out;
  do out.insert(out.begin(), (upper ? "0123456789ABCDEF" : "0123456789abcdef")[number % base]);
  while ((number /= base) != 0);
  return out;
}
std::optional<std::string> whole_in_base(const Value& value, unsigned base, bool upper) {
  if (const auto* number = value.as<std::uint64_t>()) return in_base(*number, base, upper);
  const auto* number = value.as<Int>();
  if (!number) return std::nullopt;
  const auto bits = static_cast<std::uint64_t>(*number);
  return (*number < 0 ? "-" : "") + in_base(*number < 0 ? 0 - bits : bits, base, upper);
}
std::string hex_of(std::string_view bytes, bool upper) {
  std::string out;
  for (unsigned char c : bytes) out += in_base(c >> 4, 16, upper) + in_base(c & 15, 16, upper);
  return out;
}

Result<std::string> shown(const Value& value);

// As CEL would have it written.
Result<std::string> literal(const Value& value) {
  const std::string text =
      value.kind() == Kind::floating ? fixed(value.get<double>(), kPrecision) : TRY(shown(value));
  switch (value.kind()) {
    case Kind::string:
      return json::go_quote(text);
    case Kind::bytes:
      return "b" + json::go_quote(text);
    case Kind::timestamp:
      return "timestamp(" + json::go_quote(text) + ")";
    case Kind::duration:
      return "duration(" + json::go_quote(text) + ")";
    case Kind::floating:
      return std::isfinite(value.get<double>()) ? text : json::go_quote(text);
    default:
      return text;
  }
}

Result<std::string> shown(const Value& value) {
  if (value.kind() == Kind::null) return "null";
  if (value.kind() == Kind::type) return value.get<TypeName>().name;
  if (value.is_list()) {
    std::string out = "[";
    for (std::size_t i = 0; i < value.size(); ++i)
      out += (i > 0 ? ", " : "") + TRY(literal(value.at(i)));
    return out + "]";
  }
  if (value.is_map()) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto [key, one] = value.entry(i);
      entries.emplace_back(TRY(literal(key)), TRY(literal(one)));
    }
    std::sort(entries.begin(), entries.end());
    std::string out = "{";
    for (const auto& [key, one] : entries) out += (out.size() > 1 ? ", " : "") + key + ":" + one;
    return out + "}";
  }
  if (value.kind() > Kind::timestamp)
    return misused(
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, "
        "durations, and timestamps",
        value);
  return text_of_value(value);
}

// A number, or the name of one that has no digits.
std::optional<double> number_of(const Value& value) {
  if (const auto* number = value.as<double>()) return *number;
  if (value.kind() != Kind::string) return std::nullopt;
  if (value.view() == "NaN") return std::nan("");
  if (value.view() == "Infinity") return HUGE_VAL;
  if (value.view() == "-Infinity") return -HUGE_VAL;
  return std::nullopt;
}
std::string without_digits(double number) {
  return std::isnan(number) ? "NaN" : number < 0 ? "-∞" : "∞";
}

Result<std::string> clause_text(char verb, int digits, const Value& value) {
  switch (verb) {
    case 's':
      return shown(value);
    case 'd':
      if (std::optional<std::string> text = whole_in_base(value, 10, false)) return *text;
      return misused("decimal clause can only be used on integers", value);
    case 'f':
    case 'e': {
      const std::optional<double> number = number_of(value);
      if (!number)
        return misused(verb == 'f' ? "fixed-point clause can only be used on doubles"
                                   : "scientific clause can only be used on doubles",
                       value);
      if (!std::isfinite(*number)) return without_digits(*number);
      return verb == 'f' ? grouped(fixed(*number, digits < 0 ? kPrecision : digits))
                         : scientific(*number);
    }
    case 'b':
      if (value.as<bool>()) return std::string(value.get<bool>() ? "1" : "0");
      if (std::optional<std::string> text = whole_in_base(value, 2, false)) return *text;
      return misused("only integers and bools can be formatted as binary", value);
    case 'o':
      if (std::optional<std::string> text = whole_in_base(value, 8, false)) return *text;
      return misused("octal clause can only be used on integers", value);
    case 'x':
    case 'X':
      if (value.kind() == Kind::string) return hex_of(value.view(), verb == 'X');
      if (value.kind() == Kind::bytes) return hex_of(value.get<Bytes>().text.view(), verb == 'X');
      if (std::optional<std::string> text = whole_in_base(value, 16, verb == 'X')) return *text;
      return misused("only integers, byte buffers, and strings can be formatted as hex", value);
    default:
      return cel_error("could not parse formatting clause: unrecognized formatting clause \"" +
                       std::string(1, verb) + "\"");
  }
}

Result<Value> format_text(Arguments a, Budget& budget) {
  const std::string_view text = a[0].view();
  const std::string precision =
      "could not parse formatting clause: error while parsing precision: ";
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (++i >= text.size()) return cel_error("unexpected end of string");
    if (text[i] == '%') {
      out += '%';
      continue;
    }
    if (next >= a[1].size()) return cel_error("index " + std::to_string(next) + " out of range");
    int digits = -1;
    if (text[i] == '.') {
      const std::size_t begin = ++i;
      for (digits = 0; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
        digits = std::min(digits * 10 + (text[i] - '0'), 100);
      if (i >= text.size())
        return cel_error(precision + "could not find end of precision specifier");
      if (i == begin)
        return cel_error(precision +
                         "error while converting precision to integer: strconv.Atoi: parsing \"\": "
                         "invalid syntax");
    }
    std::string part = TRY(clause_text(text[i], digits, a[1].at(next++)));
    if (!budget.spend(1 + part.size() / 10)) return out_of_budget();
    out += part;
  }
  return Value::text(std::move(out));
}

constexpr FunctionEntry kFormats[] = {
    {"format", true, "(string,list<dyn>) string", format_text},
};

}  // namespace

std::span<const FunctionEntry> format_functions() { return kFormats; }

}  // namespace hekla::cel
