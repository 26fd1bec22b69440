#include "json/codec.h"

namespace hekla::json {

std::optional<Node> Node::find(std::string_view name) const {
  if (value_ == nullptr) {
    const std::optional<View> found = view_.find(name);
    return found ? std::optional<Node>(*found) : std::nullopt;
  }
  const Value* found = json::find(*value_, name);
  return found ? std::optional<Node>(*found) : std::nullopt;
}

Result<Value> Node::to_value() const {
  if (value_ != nullptr) return Value(*value_, boost::json::storage_ptr{});
  return json::to_value(view_);
}

}  // namespace hekla::json

namespace hekla::json::detail {
namespace {

std::string_view kind_name(const Node& node) {
  if (node.is_null()) return "null";
  if (node.is_bool()) return "boolean";
  if (node.is_string()) return "string";
  if (node.is_array()) return "array";
  return node.is_object() ? "object" : "number";
}

}  // namespace

std::unexpected<Error> wrong_kind(std::string_view path, std::string_view wanted,
                                  const Node& got) {
  std::string message = join(join(path, ": expected ", wanted), ", got ", kind_name(got));
  // The number itself says what is wrong with it: a fraction, or too many digits.
  if (got.is_number()) message += " " + json::serialize(got.to_value().value());
  return fail(Code::bad_request, std::move(message));
}

std::string join(std::string_view path, std::string_view separator, std::string_view step) {
  std::string joined(path);
  return joined.append(separator).append(step);
}

std::unexpected<Error> within(std::string_view path, Error error) {
  const std::string& inner = error.message;
  const bool has_path = inner.starts_with(".") || inner.starts_with("[") || inner.starts_with(":");
  error.message = std::string(path) + (has_path ? "" : ": ") + inner;
  return std::unexpected(std::move(error));
}

Error rooted(Error error) {
  std::string& message = error.message;
  if (message.starts_with(": ")) message.erase(0, 2);
  if (message.starts_with(".")) message.erase(0, 1);
  return error;
}

}  // namespace hekla::json::detail
