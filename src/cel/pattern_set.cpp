#include "cel/pattern_set.h"

#include <algorithm>
#include <utility>

namespace hekla::cel {

Ranges negated(Ranges set) {
  std::sort(set.begin(), set.end(), [](auto& a, auto& b) { return a.low < b.low; });
  Ranges out;
  std::uint32_t from = 0;
  for (const Pattern::Range& range : set) {
    if (range.low > from) out.push_back({from, range.low - 1});
    from = std::max(from, range.high + 1);
  }
  if (from <= kMaxRune) out.push_back({from, kMaxRune});
  return out;
}

void append(Ranges& to, const Ranges& more) { to.insert(to.end(), more.begin(), more.end()); }

// ASCII only: nobody's API names need more, and RE2 folds the rest by tables of its own.
void fold_case(Ranges& set) {
  for (std::size_t i = 0, n = set.size(); i < n; ++i) {
    const auto fold = [&](std::uint32_t first, std::uint32_t last, int shift) {
      std::uint32_t low = std::max(set[i].low, first), high = std::min(set[i].high, last);
      if (low <= high) set.push_back({low + shift, high + shift});
    };
    fold('a', 'z', 'A' - 'a');
    fold('A', 'Z', 'a' - 'A');
  }
}

const Ranges kDigitRunes{{'0', '9'}};
const Ranges kWordRunes{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Ranges kSpaceRunes{{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};

const Ranges* posix_class(std::string_view name) {
  static const std::vector<std::pair<std::string_view, Ranges>> kClasses{
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"ascii", {{0, 0x7f}}},
      {"blank", {{'\t', '\t'}, {' ', ' '}}},
      {"cntrl", {{0, 0x1f}, {0x7f, 0x7f}}},
      {"digit", {{'0', '9'}}},
      {"graph", {{'!', '~'}}},
      {"lower", {{'a', 'z'}}},
      {"print", {{' ', '~'}}},
      {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {"space", {{'\t', '\r'}, {' ', ' '}}},
      {"upper", {{'A', 'Z'}}},
      {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};
  for (const auto& [key, set] : kClasses)
    if (key == name) return &set;
  return nullptr;
}

// General categories: exact within ASCII; beyond it every code point counts as a letter.
const Ranges* unicode_class(std::string_view name) {
  static const std::vector<std::pair<std::string_view, Ranges>> kClasses{
      {"L", {{'A', 'Z'}, {'a', 'z'}, {0xaa, kMaxRune}}},
      {"Lu", {{'A', 'Z'}, {0xc0, 0xde}}},
      {"Ll", {{'a', 'z'}, {0xdf, 0xff}}},
      {"N", {{'0', '9'}}},
      {"Nd", {{'0', '9'}}},
      {"P",
       {{'!', '#'},
        {'%', '*'},
        {',', '/'},
        {':', ';'},
        {'?', '@'},
        {'[', ']'},
        {'_', '_'},
        {'{', '{'},
        {'}', '}'}}},
      {"S", {{'$', '$'}, {'+', '+'}, {'<', '>'}, {'^', '^'}, {'`', '`'}, {'|', '|'}, {'~', '~'}}},
      {"Z", {{' ', ' '}, {0xa0, 0xa0}, {0x2028, 0x2029}}}};
  for (const auto& [key, set] : kClasses)
    if (key == name) return &set;
  return nullptr;
}

}  // namespace hekla::cel
