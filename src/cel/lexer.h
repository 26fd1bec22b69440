// CEL text to tokens.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "cel/expression.h"

namespace hekla::cel {

struct Token {
  enum class Kind : std::uint8_t { end, name, sign, literal } kind = Kind::end;
  std::string text;  // of names and signs
  Value value;       // of literals
  std::size_t offset = 0;
  bool quoted = false;  // a name in backquotes
};

// Ends with an `end` token.
std::expected<std::vector<Token>, SyntaxError> tokenize(std::string_view text);

}  // namespace hekla::cel
