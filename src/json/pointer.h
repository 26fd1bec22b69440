// JSON Pointer (RFC 6901).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace hekla::json {

// The reference tokens, unescaped; "" is the whole document.
Result<std::vector<std::string>> parse_pointer(std::string_view text);
std::string pointer_text(const std::vector<std::string>& tokens);

// Null when a token leads nowhere.
const Value* find_pointer(const Value& value, const std::vector<std::string>& tokens);
Value* find_pointer(Value& value, const std::vector<std::string>& tokens);

// An array index without sign and leading zeros, less than `limit`; npos otherwise.
std::size_t array_index(std::string_view token, std::size_t limit);

}  // namespace hekla::json
