// Text inside HTML and XML: the entities that stand for the characters of the markup itself.
#pragma once

#include <string>
#include <string_view>

namespace hekla {

// Empty for a character that stands for itself. The numbers are right in HTML and in XML.
constexpr std::string_view markup_entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&#34;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

inline std::string escape_markup(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (const std::string_view entity = markup_entity(c); !entity.empty())
      out += entity;
    else
      out += c;
  }
  return out;
}

}  // namespace hekla
