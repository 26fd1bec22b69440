#include "pipelines/engine/expression.h"

#include <charconv>

#include "cel/program.h"
#include "json/parse.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::engine {
namespace {

constexpr std::uint64_t kBudget = 100'000;

std::unexpected<Error> bad(const std::string& text, std::string_view reason) {
  return fail(Code::bad_request, "expression " + text + ": " + std::string(reason));
}

// One ["key"], ['key'] or [0] at the front of `rest`, taken off.
Result<json::Value> take_step(const std::string& whole, std::string_view& rest,
                              const json::Value& value) {
  if (rest.size() > 2 && (rest[1] == '"' || rest[1] == '\'')) {
    const std::size_t end = rest.find(std::string{rest[1], ']'}, 2);
    if (end == std::string_view::npos) return bad(whole, "a key has no end");
    const std::string key(rest.substr(2, end - 2));
    rest.remove_prefix(end + 2);
    const json::Value* member = json::find(value, key);
    if (member == nullptr) return bad(whole, "no such key: " + key);
    return *member;
  }
  const std::size_t end = rest.find(']');
  std::size_t index = 0;
  if (end == std::string_view::npos) return bad(whole, "an index has no end");
  const auto [stop, error] = std::from_chars(rest.data() + 1, rest.data() + end, index);
  if (error != std::errc{} || stop != rest.data() + end) return bad(whole, "not an index");
  rest.remove_prefix(end + 1);
  if (!value.is_array() || index >= value.get_array().size())
    return bad(whole, "index out of bounds: " + std::to_string(index));
  return value.get_array()[index];
}

}  // namespace

Result<bool> evaluate_condition(const std::string& text, const json::Object& inputs) {
  const json::Value* parameters = json::find(inputs, "parameterValues");
  const json::Value root =
      json::Object{{"parameter_values",
                    ir::plain_numbers(parameters ? *parameters : json::Value(json::Object{}))}};
  auto program = TRY(cel::Program::compile(text, {{"inputs", cel::Type{}}}));
  cel::Budget budget(kBudget);
  const cel::Value got = TRY(program->run({{"inputs", cel::Value::of(root, nullptr)}}, budget));
  if (got.as<bool>() == nullptr)
    return bad(text, "the condition is no boolean but " + std::string(got.type_name()));
  return got.is_true();
}

Result<json::Value> select(const std::string& selector, const json::Value& value) {
  constexpr std::string_view kText = "string_value", kParse = "parseJson(string_value)";
  if (selector == kText) return json::Value(ir::text_of(value));
  std::string_view rest = selector;
  if (!rest.starts_with(kParse)) return bad(selector, "only parseJson(string_value) is known");
  rest.remove_prefix(kParse.size());
  json::Value at = value;
  if (value.is_string()) {
    Result<json::Value> parsed = json::parse(json::sv(value.get_string()));
    if (!parsed) return bad(selector, "not JSON: " + parsed.error().message);
    at = std::move(*parsed);
  }
  while (!rest.empty()) {
    if (rest.front() == '.') {
      const std::size_t end = std::min(rest.find_first_of(".[", 1), rest.size());
      const json::Value* member = json::find(at, rest.substr(1, end - 1));
      if (member == nullptr)
        return bad(selector, "no such key: " + std::string(rest.substr(1, end - 1)));
      json::Value next = *member;
      at = std::move(next);
      rest.remove_prefix(end);
    } else if (rest.front() == '[') {
      json::Value next = TRY(take_step(selector, rest, at));
      at = std::move(next);
    } else {
      return bad(selector, "unexpected text: " + std::string(rest));
    }
  }
  return at;
}

}  // namespace hekla::pipelines::engine
