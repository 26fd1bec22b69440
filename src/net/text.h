// The character rules of HTTP's grammar (RFC 9110, RFC 9112). ASCII only, never the locale's.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace hekla::net {

constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return to_lower(x) == to_lower(y); });
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// tchar: methods and header names consist of these. A table: every name of every header is checked.
inline constexpr std::array<bool, 256> kTokenChars = [] {
  std::array<bool, 256> is{};
  for (unsigned char c = '0'; c <= '9'; ++c) is[c] = true;
  for (unsigned char c = 'a'; c <= 'z'; ++c) is[c] = is[c - 32u] = true;
  for (unsigned char c : std::string_view("!#$%&'*+-.^_`|~")) is[c] = true;
  return is;
}();
constexpr bool is_token_char(char c) { return kTokenChars[static_cast<unsigned char>(c)]; }

constexpr bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}

// Characters of a header value: everything visible, space, tab and bytes above 127.
constexpr bool is_field_char(char c) {
  unsigned char u = static_cast<unsigned char>(c);
  return u == '\t' || (u >= 0x20 && u != 0x7f);
}

constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Calls `visit` with each trimmed, non-empty element of a comma-separated list.
template <class Visit>
constexpr void for_each_element(std::string_view list, Visit visit) {
  while (!list.empty()) {
    std::size_t end = std::min(list.find(','), list.size());
    if (std::string_view element = trim(list.substr(0, end)); !element.empty()) visit(element);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

constexpr bool list_contains(std::string_view list, std::string_view wanted) {
  bool found = false;
  for_each_element(list,
                   [&](std::string_view e) { found = found || equal_ignoring_case(e, wanted); });
  return found;
}

}  // namespace hekla::net
