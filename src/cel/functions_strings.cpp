// Strings by code point, and regular expressions.
#include <algorithm>
#include <cmath>

#include "cel/functions.h"
#include "json/go_text.h"
#include "cel/pattern.h"

namespace hekla::cel {
namespace {

using Int = std::int64_t;

std::size_t runes_in(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}
// The byte at which the code point of that number begins; the end for the one behind the last.
std::size_t byte_of_rune(std::string_view text, std::size_t rune) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if ((text[at] & 0xc0) != 0x80 && rune-- == 0) return at;
  return at;
}
bool pay_for(Budget& budget, std::string_view text) { return budget.spend(1 + text.size() / 10); }

Result<Value> size_of_text(Arguments a, Budget&) { return Value(static_cast<Int>(runes_in(a[0].view()))); }
Result<Value> size_of_bytes(Arguments a, Budget&) {
  return Value(static_cast<Int>(a[0].get<Bytes>().text.view().size()));
}
Result<Value> text_contains(Arguments a, Budget& budget) {
  if (!pay_for(budget, a[0].view())) return out_of_budget();
  return Value(a[0].view().find(a[1].view()) != std::string_view::npos);
}
Result<Value> starts_with(Arguments a, Budget&) { return Value(a[0].view().starts_with(a[1].view())); }
Result<Value> ends_with(Arguments a, Budget&) { return Value(a[0].view().ends_with(a[1].view())); }

Result<Value> text_matches(Arguments a, Budget& budget) {
  if (!budget.spend((1 + a[0].view().size() / 10) * (1 + a[1].view().size() / 4))) return out_of_budget();
  auto pattern = Pattern::compile(a[1].view());
  if (!pattern) return cel_error(pattern.error().message);
  return Value((*pattern)->matches(a[0].view()));
}

Result<Value> char_at(Arguments a, Budget&) {
  const std::string_view text = a[0].view();
  const Int index = a[1].get<Int>(), count = static_cast<Int>(runes_in(text));
  if (index < 0 || index > count) return cel_error("index out of range: " + std::to_string(index));
  const std::size_t from = byte_of_rune(text, static_cast<std::size_t>(index));
  const std::size_t to = byte_of_rune(text, static_cast<std::size_t>(index) + 1);
  return Value::text(std::string(text.substr(from, to - from)));
}

Result<Value> index_from(std::string_view text, std::string_view part, Int from) {
  if (from < 0 || from > static_cast<Int>(runes_in(text)))
    return cel_error("index out of range: " + std::to_string(from));
  const std::size_t found = text.find(part, byte_of_rune(text, static_cast<std::size_t>(from)));
  if (found == std::string_view::npos) return Value(Int{-1});
  return Value(static_cast<Int>(runes_in(text.substr(0, found))));
}
Result<Value> index_of(Arguments a, Budget& budget) {
  if (!pay_for(budget, a[0].view())) return out_of_budget();
  return index_from(a[0].view(), a[1].view(), 0);
}
Result<Value> index_of_from(Arguments a, Budget& budget) {
  if (!pay_for(budget, a[0].view())) return out_of_budget();
  return index_from(a[0].view(), a[1].view(), a[2].get<Int>());
}
Result<Value> last_index_of(Arguments a, Budget& budget) {
  if (!pay_for(budget, a[0].view())) return out_of_budget();
  const std::size_t found = a[0].view().rfind(a[1].view());
  if (found == std::string_view::npos) return Value(Int{-1});
  return Value(static_cast<Int>(runes_in(a[0].view().substr(0, found))));
}

Result<Value> mapped(std::string_view text, char low, char high, int shift) {
  std::string out(text);
  for (char& c : out)
    if (c >= low && c <= high) c = static_cast<char>(c + shift);
  return Value::text(std::move(out));
}
Result<Value> lower_ascii(Arguments a, Budget&) { return mapped(a[0].view(), 'A', 'Z', 32); }
Result<Value> upper_ascii(Arguments a, Budget&) { return mapped(a[0].view(), 'a', 'z', -32); }

Result<Value> replace_times(Arguments a, Int times, Budget& budget) {
  const std::string_view text = a[0].view(), from = a[1].view(), to = a[2].view();
  if (times < 0) times = static_cast<Int>(text.size()) + 1;
  std::string out;
  std::size_t at = 0;
  for (; times > 0; --times) {
    if (!budget.spend(1 + to.size() / 10)) return out_of_budget();
    if (from.empty()) {
      out += to;
      if (at >= text.size()) break;
      const std::size_t next = byte_of_rune(text.substr(at), 1);
      out += text.substr(at, next);
      at += next;
      continue;
    }
    const std::size_t found = text.find(from, at);
    if (found == std::string_view::npos) break;
    out += text.substr(at, found - at);
    out += to;
    at = found + from.size();
  }
  out += text.substr(std::min(at, text.size()));
  return Value::text(std::move(out));
}
Result<Value> replace_all(Arguments a, Budget& budget) { return replace_times(a, -1, budget); }
Result<Value> replace_some(Arguments a, Budget& budget) { return replace_times(a, a[3].get<Int>(), budget); }

Result<Value> split_times(Arguments a, Int limit, Budget& budget) {
  const std::string_view text = a[0].view(), by = a[1].view();
  if (!pay_for(budget, text)) return out_of_budget();
  std::vector<Value> out;
  if (limit == 0) return Value::list({});
  std::size_t at = 0;
  while (limit < 0 || static_cast<Int>(out.size()) + 1 < limit) {
    const std::size_t found =
        by.empty() ? (at < text.size() ? at + byte_of_rune(text.substr(at), 1) : std::string_view::npos)
                   : text.find(by, at);
    if (found == std::string_view::npos || (by.empty() && found >= text.size())) break;
    out.push_back(Value::text(std::string(text.substr(at, found - at))));
    at = found + by.size();
  }
  out.push_back(Value::text(std::string(text.substr(at))));
  return Value::list(std::move(out));
}
Result<Value> split_all(Arguments a, Budget& budget) { return split_times(a, -1, budget); }
Result<Value> split_some(Arguments a, Budget& budget) { return split_times(a, a[2].get<Int>(), budget); }

Result<Value> slice(std::string_view text, Int from, Int to) {
  const Int count = static_cast<Int>(runes_in(text));
  if (from < 0 || from > count) return cel_error("index out of range: " + std::to_string(from));
  if (to < 0 || to > count) return cel_error("index out of range: " + std::to_string(to));
  if (from > to)
    return cel_error("invalid substring range. start: " + std::to_string(from) + ", end: " + std::to_string(to));
  const std::size_t begin = byte_of_rune(text, static_cast<std::size_t>(from));
  const std::size_t end = byte_of_rune(text, static_cast<std::size_t>(to));
  return Value::text(std::string(text.substr(begin, end - begin)));
}
Result<Value> substring_from(Arguments a, Budget&) {
  return slice(a[0].view(), a[1].get<Int>(), static_cast<Int>(runes_in(a[0].view())));
}
Result<Value> substring_range(Arguments a, Budget&) {
  return slice(a[0].view(), a[1].get<Int>(), a[2].get<Int>());
}

Result<Value> trim(Arguments a, Budget&) {
  std::string_view text = a[0].view();
  const std::string_view space = " \t\n\v\f\r";
  while (!text.empty() && space.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && space.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return Value::text(std::string(text));
}
Result<Value> reverse_text(Arguments a, Budget&) {
  const std::string_view text = a[0].view();
  std::string out;
  for (std::size_t end = text.size(), at = text.size(); at-- > 0;)
    if ((text[at] & 0xc0) != 0x80) {
      out += text.substr(at, end - at);
      end = at;
    }
  return Value::text(std::move(out));
}
Result<Value> quote(Arguments a, Budget&) { return Value::text(json::go_quote(a[0].view())); }

Result<Value> join_by(const Value& list, std::string_view by, Budget& budget) {
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value one = list.at(i);
    if (one.kind() != Value::Kind::string) return cel_error("no such overload");
    if (!pay_for(budget, one.view())) return out_of_budget();
    if (i > 0) out += by;
    out += one.view();
  }
  return Value::text(std::move(out));
}
Result<Value> join_plain(Arguments a, Budget& budget) { return join_by(a[0], "", budget); }
Result<Value> join_with(Arguments a, Budget& budget) { return join_by(a[0], a[1].view(), budget); }

std::string shown(const Value& value) {
  json::Value plain = to_json(value);
  if (value.kind() == Value::Kind::floating) {
    std::string out;
    json::append_double(value.get<double>(), out);
    return out;
  }
  return plain.is_string() ? std::string(json::sv(plain.get_string())) : json::serialize(plain);
}

std::string fixed(double number, int digits) {
  char buffer[512];
  const int size = std::snprintf(buffer, sizeof buffer, "%.*f", digits, number);
  return {buffer, static_cast<std::size_t>(std::clamp(size, 0, 511))};
}

std::string in_base(std::uint64_t number, unsigned base, bool upper) {
  std::string out;
  do out.insert(out.begin(), (upper ? "0123456789ABCDEF" : "0123456789abcdef")[number % base]);
  while ((number /= base) != 0);
  return out;
}

Result<std::string> clause_text(char verb, int digits, const Value& value) {
  if (verb == 's') return shown(value);
  const auto* whole = value.as<Int>();
  if (verb == 'd' && (whole || value.as<std::uint64_t>())) return shown(value);
  if (verb == 'f' || verb == 'e') {
    double number = value.as<double>() ? value.get<double>() : 0;
    if (whole) number = static_cast<double>(*whole);
    else if (!value.as<double>()) return cel_error("error during formatting: no such overload");
    return fixed(number, digits < 0 ? 6 : digits);
  }
  if ((verb == 'x' || verb == 'X' || verb == 'o' || verb == 'b') && whole) {
    const unsigned base = verb == 'o' ? 8 : verb == 'b' ? 2 : 16;
    const bool negative = *whole < 0;
    const auto size = negative ? 0 - static_cast<std::uint64_t>(*whole) : static_cast<std::uint64_t>(*whole);
    return (negative ? "-" : "") + in_base(size, base, verb == 'X');
  }
  if (verb == 'b' && value.as<bool>()) return std::string(value.get<bool>() ? "1" : "0");
  return cel_error(std::string("error during formatting: unrecognized formatting clause \"") + verb + "\"");
}

Result<Value> format_text(Arguments a, Budget& budget) {
  const std::string_view text = a[0].view();
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
    int digits = -1;
    if (text[i] == '.')
      for (digits = 0, ++i; i < text.size() && text[i] >= '0' && text[i] <= '9' && digits < 100; ++i)
        digits = digits * 10 + (text[i] - '0');
    if (i >= text.size()) return cel_error("unexpected end of string");
    if (next >= a[1].size()) return cel_error("index " + std::to_string(next) + " out of range");
    std::string part = TRY(clause_text(text[i], std::min(digits, 100), a[1].at(next++)));
    if (!pay_for(budget, part)) return out_of_budget();
    out += part;
  }
  return Value::text(std::move(out));
}

constexpr FunctionEntry kStrings[] = {
    {"size", false, "(string) int", size_of_text},
    {"size", true, "(string) int", size_of_text},
    {"size", false, "(bytes) int", size_of_bytes},
    {"size", true, "(bytes) int", size_of_bytes},
    {"contains", true, "(string,string) bool", text_contains},
    {"startsWith", true, "(string,string) bool", starts_with},
    {"endsWith", true, "(string,string) bool", ends_with},
    {"matches", true, "(string,string) bool", text_matches},
    {"matches", false, "(string,string) bool", text_matches},
    {"charAt", true, "(string,int) string", char_at},
    {"indexOf", true, "(string,string) int", index_of},
    {"indexOf", true, "(string,string,int) int", index_of_from},
    {"lastIndexOf", true, "(string,string) int", last_index_of},
    {"lowerAscii", true, "(string) string", lower_ascii},
    {"upperAscii", true, "(string) string", upper_ascii},
    {"replace", true, "(string,string,string) string", replace_all},
    {"replace", true, "(string,string,string,int) string", replace_some},
    {"split", true, "(string,string) list<string>", split_all},
    {"split", true, "(string,string,int) list<string>", split_some},
    {"substring", true, "(string,int) string", substring_from},
    {"substring", true, "(string,int,int) string", substring_range},
    {"trim", true, "(string) string", trim},
    {"reverse", true, "(string) string", reverse_text},
    {"strings.quote", false, "(string) string", quote},
    {"join", true, "(list<string>) string", join_plain},
    {"join", true, "(list<string>,string) string", join_with},
    {"format", true, "(string,list<dyn>) string", format_text},
};

}  // namespace

std::span<const FunctionEntry> string_functions() { return kStrings; }

}  // namespace hekla::cel
