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

std::unexpected<Error> wrong_kind(std::string_view wanted, const Node& got) {
  std::string message = ": expected ";
  message.append(wanted).append(", got ").append(kind_name(got));
  // The number itself says what is wrong with it: a fraction, or too many digits.
  if (got.is_number()) message += " " + json::serialize(got.to_value().value());
  return fail(Code::bad_request, std::move(message));
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

Result<void> decode_struct(const Node& node, void* out, std::span<const MemberCodec> members) {
  Result<void> done;
  node.for_each_member([&](std::string_view key, const Node& value) {
    for (const MemberCodec& member : members) {
      if (member.name != key) continue;
      done = member.decode(value, out);
      if (!done) done = within("." + std::string(key), std::move(done).error());
      break;
    }
    return done.has_value();
  });
  return done;
}

Result<void> decode_list(const Node& node, void* first, std::size_t count, std::size_t size,
                         Decoder decode) {
  Result<void> done;
  std::size_t i = 0;
  node.for_each_element([&](const Node& element) {
    if (i == count) {  // a View counts no further than 2^24 - 1
      done = fail(Code::bad_request, ": too many elements");
      return false;
    }
    done = decode(element, static_cast<std::byte*>(first) + i * size);
    if (!done) done = within("[" + std::to_string(i) + "]", std::move(done).error());
    ++i;
    return done.has_value();
  });
  return done;
}

Result<void> decode_map(const Node& node, void* map, MapElement element, Decoder decode) {
  Result<void> done;
  node.for_each_member([&](std::string_view key, const Node& value) {
    done = decode(value, element(map, key));
    if (!done) done = within("." + std::string(key), std::move(done).error());
    return done.has_value();
  });
  return done;
}

Value encode_struct(const void* object, std::span<const MemberCodec> members) {
  Object encoded;
  for (const MemberCodec& member : members) member.encode(encoded, member.name, object);
  return encoded;
}

Value encode_list(const void* first, std::size_t count, std::size_t size, Encoder encode) {
  Array array;
  array.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    array.push_back(encode(static_cast<const std::byte*>(first) + i * size));
  return array;
}

}  // namespace hekla::json::detail

JSON_CODEC_DEFINE(bool);
JSON_CODEC_DEFINE(std::int32_t);
JSON_CODEC_DEFINE(std::int64_t);
JSON_CODEC_DEFINE(double);
JSON_CODEC_DEFINE(std::string);
JSON_CODEC_DEFINE(hekla::json::Value);
JSON_CODEC_DEFINE(std::optional<bool>);
JSON_CODEC_DEFINE(std::optional<std::int32_t>);
JSON_CODEC_DEFINE(std::optional<std::int64_t>);
JSON_CODEC_DEFINE(std::vector<std::string>);
JSON_CODEC_DEFINE(std::vector<hekla::json::Value>);
JSON_CODEC_DEFINE(std::map<std::string, std::string>);
