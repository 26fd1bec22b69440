// Strings by code point, and regular expressions.
#include <algorithm>

#include "cel/functions.h"
#include "cel/pattern.h"
#include "json/go_text.h"

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

Result<Value> size_of_text(Arguments a, Budget&) {
  return Value(static_cast<Int>(runes_in(a[0].view())));
}
Result<Value> size_of_bytes(Arguments a, Budget&) {
  return Value(static_cast<Int>(a[0].get<Bytes>().text.view().size()));
}
Result<Value> text_contains(Arguments a, Budget& budget) {
  if (!pay_for(budget, a[0].view())) return out_of_budget();
  return Value(a[0].view().find(a[1].view()) != std::string_view::npos);
}
Result<Value> starts_with(Arguments a, Budget&) {
  return Value(a[0].view().starts_with(a[1].view()));
}
Result<Value> ends_with(Arguments a, Budget&) { return Value(a[0].view().ends_with(a[1].view())); }

Result<Value> text_matches(Arguments a, Budget& budget) {
  if (!budget.spend((1 + a[0].view().size() / 10) * (1 + a[1].view().size() / 4)))
    return out_of_budget();
  auto pattern = Pattern::compile(a[1].view());
  if (!pattern) return cel_error(pattern.error().message);
  return Value((*pattern)->matches(a[0].view()));
}

// The budget of a search pays for every place it starts at.
Result<std::shared_ptr<const Pattern>> searched(Arguments a, Budget& budget) {
  if (!budget.spend((1 + a[0].view().size() / 10) * (1 + a[1].view().size() / 4)))
    return out_of_budget();
  auto pattern = Pattern::compile(a[1].view());
  if (!pattern) return cel_error("Illegal regex: " + pattern.error().message);
  return pattern;
}
Result<Value> find_first(Arguments a, Budget& budget) {
  const auto pattern = TRY(searched(a, budget));
  const std::optional<Pattern::Place> place = pattern->find(a[0].view());
  return Value::text(
      place ? std::string(a[0].view().substr(place->begin, place->end - place->begin)) : "");
}
Result<Value> find_up_to(Arguments a, Int most, Budget& budget) {
  const auto pattern = TRY(searched(a, budget));
  const std::size_t all = a[0].view().size() + 1;
  std::vector<Value> out;
  for (std::string_view one :
       pattern->find_all(a[0].view(), most < 0 ? all : static_cast<std::size_t>(most))) {
    if (!pay_for(budget, a[0].view())) return out_of_budget();
    out.push_back(Value::text(std::string(one)));
  }
  return Value::list(std::move(out));
}
Result<Value> find_all(Arguments a, Budget& budget) { return find_up_to(a, -1, budget); }
Result<Value> find_some(Arguments a, Budget& budget) {
  return find_up_to(a, a[2].get<Int>(), budget);
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
  if (from < 0) return cel_error("index out of range: " + std::to_string(from));
  if (from > static_cast<Int>(runes_in(text))) return Value(Int{-1});
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

// Beginning at that code point or before.
Result<Value> last_index_of_from(Arguments a, Budget& budget) {
  const Int from = a[2].get<Int>();
  if (!pay_for(budget, a[0].view())) return out_of_budget();
  if (from < 0) return cel_error("index out of range: " + std::to_string(from));
  if (from > static_cast<Int>(runes_in(a[0].view()))) return Value(Int{-1});
  const std::size_t found =
      a[0].view().rfind(a[1].view(), byte_of_rune(a[0].view(), static_cast<std::size_t>(from)));
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
Result<Value> replace_some(Arguments a, Budget& budget) {
  return replace_times(a, a[3].get<Int>(), budget);
}

Result<Value> split_times(Arguments a, Int limit, Budget& budget) {
  const std::string_view text = a[0].view(), by = a[1].view();
  if (!pay_for(budget, text)) return out_of_budget();
  std::vector<Value> out;
  if (limit == 0 || (text.empty() && by.empty())) return Value::list({});
  std::size_t at = 0;
  while (limit < 0 || static_cast<Int>(out.size()) + 1 < limit) {
    const std::size_t found = by.empty() ? (at < text.size() ? at + byte_of_rune(text.substr(at), 1)
                                                             : std::string_view::npos)
                                         : text.find(by, at);
    if (found == std::string_view::npos || (by.empty() && found >= text.size())) break;
    out.push_back(Value::text(std::string(text.substr(at, found - at))));
    at = found + by.size();
  }
  out.push_back(Value::text(std::string(text.substr(at))));
  return Value::list(std::move(out));
}
Result<Value> split_all(Arguments a, Budget& budget) { return split_times(a, -1, budget); }
Result<Value> split_some(Arguments a, Budget& budget) {
  return split_times(a, a[2].get<Int>(), budget);
}

Result<Value> slice(std::string_view text, Int from, Int to) {
  const Int count = static_cast<Int>(runes_in(text));
  if (from < 0 || from > count) return cel_error("index out of range: " + std::to_string(from));
  if (to < 0 || to > count) return cel_error("index out of range: " + std::to_string(to));
  if (from > to)
    return cel_error("invalid substring range. start: " + std::to_string(from) +
                     ", end: " + std::to_string(to));
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

// The length of the white space that the text begins with, or ends with; 0: there is none.
std::size_t leading_space(std::string_view text) {
  static constexpr std::string_view kSpaces[] = {
      " ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\u0085", "\u00a0", "\u1680",
      "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
      "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
  for (std::string_view space : kSpaces)
    if (text.starts_with(space)) return space.size();
  return 0;
}
Result<Value> trim(Arguments a, Budget& budget) {
  std::string_view text = a[0].view();
  if (!pay_for(budget, text)) return out_of_budget();
  while (std::size_t size = leading_space(text)) text.remove_prefix(size);
  for (bool more = true; more && !text.empty();) {
    std::size_t last = text.size() - 1;
    while (last > 0 && (text[last] & 0xc0) == 0x80) --last;
    more = leading_space(text.substr(last)) == text.size() - last;
    if (more) text = text.substr(0, last);
  }
  return Value::text(std::string(text));
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
    {"find", true, "(string,string) string", find_first},
    {"findAll", true, "(string,string) list<string>", find_all},
    {"findAll", true, "(string,string,int) list<string>", find_some},
    {"charAt", true, "(string,int) string", char_at},
    {"indexOf", true, "(string,string) int", index_of},
    {"indexOf", true, "(string,string,int) int", index_of_from},
    {"lastIndexOf", true, "(string,string) int", last_index_of},
    {"lastIndexOf", true, "(string,string,int) int", last_index_of_from},
    {"lowerAscii", true, "(string) string", lower_ascii},
    {"upperAscii", true, "(string) string", upper_ascii},
    {"replace", true, "(string,string,string) string", replace_all},
    {"replace", true, "(string,string,string,int) string", replace_some},
    {"split", true, "(string,string) list<string>", split_all},
    {"split", true, "(string,string,int) list<string>", split_some},
    {"substring", true, "(string,int) string", substring_from},
    {"substring", true, "(string,int,int) string", substring_range},
    {"trim", true, "(string) string", trim},
    {"strings.quote", false, "(string) string", quote},
    {"join", true, "(list<string>) string", join_plain},
    {"join", true, "(list<string>,string) string", join_with},
};

}  // namespace

std::span<const FunctionEntry> string_functions() { return kStrings; }

}  // namespace hekla::cel
