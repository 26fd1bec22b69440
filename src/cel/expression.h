// A parsed CEL expression, and how it is made from text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cel/value.h"

namespace hekla::cel {

struct Overload;  // functions.h

enum class Macro : std::uint8_t {
  all,
  exists,
  exists_one,
  map,
  filter,
  transform_list,
  transform_map,
  transform_map_entry,
  sort_by,
  opt_map,
  opt_flat_map,
  bind
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  enum class Op : std::uint8_t {
    literal,     // value
    identifier,  // name
    select,      // arguments[0].name; `optional` for .?name
    presence,    // has(arguments[0].name)
    index,       // arguments[0][arguments[1]]; `optional` for [?key]
    call,        // name(arguments...), `member` when the first stands before the dot
    logical_and,
    logical_or,
    conditional,
    list,  // arguments; optional_entries[i] for [?x]
    map,   // key, value, key, value ...
    macro  // over arguments[0] with variables; then filter (may be null) and body
  };
  Op op = Op::literal;
  std::size_t offset = 0;  // in the text, for messages
  Value value;
  std::string name;
  bool member = false;
  bool optional = false;
  std::vector<ExpressionPtr> arguments;
  std::vector<bool> optional_entries;
  Macro macro = Macro::all;
  std::vector<std::string> variables;
  ExpressionPtr filter, body;
  // By name and style, found when the expression is checked.
  std::vector<const Overload*> overloads;
};

inline constexpr std::size_t kExpressionBytesMax = 100'000;
inline constexpr int kExpressionDepthMax = 100;

// An offset into the text with the reason, for compile_error() below.
struct SyntaxError {
  std::size_t offset = 0;
  std::string reason;
};
std::expected<ExpressionPtr, SyntaxError> parse_expression(std::string_view text);

// "ERROR: <input>:1:6: reason\n | text\n | .....^"
std::string located_error(std::string_view text, std::size_t offset, std::string_view reason);

}  // namespace hekla::cel
