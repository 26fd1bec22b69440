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

std::optional<Node> find_path(const Node& node, std::initializer_list<std::string_view> members) {
  std::optional<Node> found = node;
  for (std::string_view member : members) {
    if (!found || !found->is_object()) return std::nullopt;
    found = found->find(member);
  }
  return found;
}

std::string_view string_at(const Node& node, std::initializer_list<std::string_view> members) {
  const std::optional<Node> found = find_path(node, members);
  return found && found->is_string() ? found->get_string() : std::string_view();
}

std::int64_t int_at(const Node& node, std::initializer_list<std::string_view> members,
                    std::int64_t otherwise) {
  const std::optional<Node> found = find_path(node, members);
  std::int64_t number = otherwise;
  return found && found->to_number(number) ? number : otherwise;
}

bool bool_at(const Node& node, std::initializer_list<std::string_view> members, bool otherwise) {
  const std::optional<Node> found = find_path(node, members);
  return found && found->is_bool() ? found->get_bool() : otherwise;
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

std::unexpected<Error> wrong_kind(std::string_view path, std::string_view wanted, const Node& got) {
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
