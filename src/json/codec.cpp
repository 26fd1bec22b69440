#include "json/codec.h"

namespace hekla::json::detail {
namespace {

std::string_view kind_name(const Value& value) {
  switch (value.kind()) {
    case Kind::null: return "null";
    case Kind::bool_: return "boolean";
    case Kind::int64:
    case Kind::uint64:
    case Kind::double_: return "number";
    case Kind::string: return "string";
    case Kind::array: return "array";
    case Kind::object: return "object";
  }
  return "value";
}

}  // namespace

std::unexpected<Error> wrong_kind(const std::string& path, std::string_view wanted,
                                  const Value& got) {
  std::string message = path + ": expected " + std::string(wanted) + ", got ";
  message += kind_name(got);
  // The number itself says what is wrong with it: a fraction, or too many digits.
  if (got.is_number()) message += " " + json::serialize(got);
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

}  // namespace hekla::json::detail
