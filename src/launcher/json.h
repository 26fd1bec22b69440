// The little JSON that the launcher reads and writes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hekla::launcher {

// A value; of numbers, true, false and null only the text is kept.
struct Json {
  enum class Kind { literal, string, array, object } kind = Kind::literal;
  std::string text;
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  const Json* find(std::string_view name) const;
  // The member's text, or nothing for one that is missing or no string.
  std::string string(std::string_view name) const;
};

// The value; nullopt for text that is no JSON or nested deeper than 64.
std::optional<Json> parse_json(std::string_view text);
// With quotes; bytes that are no UTF-8 become U+FFFD.
std::string quoted(std::string_view text);

}  // namespace hekla::launcher
