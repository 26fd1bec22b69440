// JSON text to values: simdjson reads into its tape, which is then built into a Boost.JSON value.
// simdjson's DOM does not say where an error is, so a document that fails is scanned once more by
// Boost.JSON's incremental parser, for the message only.
#include "json/parse.h"

#include <simdjson.h>

#include <boost/json/stream_parser.hpp>
#include <charconv>

namespace hekla::json {
namespace {

constexpr int kMaxDepth = 256;
// A thread keeps its parser; one that had to grow beyond this is given back.
constexpr std::size_t kKeptCapacity = std::size_t{4} << 20;

// The way to the value being built, as a chain on the stack: text is made only when somebody asks.
struct Path {
  const Path* parent = nullptr;
  std::string_view key{};
  std::size_t index = 0;
  bool is_index = false;

  void append_to(std::string& out) const {
    if (parent == nullptr) return;
    parent->append_to(out);
    if (is_index) {
      out += "[" + std::to_string(index) + "]";
    } else {
      if (!out.empty()) out.push_back('.');
      out += key;
    }
  }
};

class Builder {
 public:
  explicit Builder(std::vector<std::string>* duplicates) : duplicates_(duplicates) {}

  // False when nested too deeply.
  bool build(const simdjson::dom::element& from, Value& out, const Path& path, int depth) {
    using simdjson::dom::element_type;
    switch (from.type()) {
      case element_type::ARRAY:
        return depth < kMaxDepth && build_array(from, out.emplace_array(), path, depth + 1);
      case element_type::OBJECT:
        return depth < kMaxDepth && build_object(from, out.emplace_object(), path, depth + 1);
      case element_type::INT64: out.emplace_int64() = std::int64_t(from); return true;
      case element_type::UINT64: out.emplace_uint64() = std::uint64_t(from); return true;
      case element_type::DOUBLE: out.emplace_double() = double(from); return true;
      case element_type::STRING: out.emplace_string() = std::string_view(from); return true;
      case element_type::BOOL: out.emplace_bool() = bool(from); return true;
      case element_type::NULL_VALUE: out.emplace_null(); return true;
    }
    return false;
  }

 private:
  bool build_array(const simdjson::dom::array& from, Array& out, const Path& path, int depth) {
    out.reserve(from.size());
    std::size_t index = 0;
    for (const simdjson::dom::element element : from) {
      const Path here{&path, {}, index++, true};
      if (!build(element, out.emplace_back(nullptr), here, depth)) return false;
    }
    return true;
  }

  bool build_object(const simdjson::dom::object& from, Object& out, const Path& path, int depth) {
    out.reserve(from.size());
    for (const simdjson::dom::key_value_pair field : from) {
      const Path here{&path, field.key, 0, false};
      const auto [member, fresh] = out.emplace(field.key, nullptr);
      if (!fresh && duplicates_ != nullptr) here.append_to(duplicates_->emplace_back());
      if (!build(field.value, member->value(), here, depth)) return false;
    }
    return true;
  }

  std::vector<std::string>* duplicates_;
};

std::string position(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 == 0
  return "line " + std::to_string(line) + ", column " + std::to_string(offset - line_start + 1);
}

std::string describe_at(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return "unexpected end of JSON input";
  const char c = text[offset];
  if (c >= 0x20 && c < 0x7f) return std::string("invalid character '") + c + "'";
  return "invalid byte";
}

Error syntax_error(std::string_view text, simdjson::error_code code) {
  std::string message = "cannot parse JSON: ";
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return {Code::bad_request, message + "unexpected end of JSON input"};
  if (code == simdjson::DEPTH_ERROR)
    return {Code::bad_request, message + "nested deeper than " + std::to_string(kMaxDepth)};
  boost::json::parse_options options;
  options.max_depth = 2000;  // simdjson has refused deeper ones already
  boost::json::stream_parser scanner({}, options);
  boost::json::error_code error;
  std::size_t offset = scanner.write_some(text.data(), text.size(), error);
  if (!error && offset < text.size()) {
    offset = text.find_first_not_of(" \t\r\n", offset);
    message += describe_at(text, offset) + " after the end of the document";
  } else if (!error && !scanner.done()) {
    scanner.finish(error);
    message += error ? "unexpected end of JSON input" : simdjson::error_message(code);
  } else if (error) {
    message += describe_at(text, offset) + " (" + error.message() + ")";
  } else {
    return {Code::bad_request, message + simdjson::error_message(code)};
  }
  return {Code::bad_request, message + " at " + position(text, offset)};
}

bool is_long_integer(std::string_view token) {
  if (token.find_first_of(".eE") != std::string_view::npos) return false;
  std::int64_t narrow = 0;
  std::uint64_t wide = 0;
  const char* end = token.data() + token.size();
  return std::from_chars(token.data(), end, narrow).ec == std::errc::result_out_of_range &&
         std::from_chars(token.data(), end, wide).ec != std::errc{};
}

// simdjson refuses integers beyond 64 bits; Go reads them as floats. "e0" after each long run of
// digits outside strings makes them floats for simdjson too. Empty when there is none.
std::string with_long_integers_as_floats(std::string_view text) {
  std::string out;
  std::size_t copied = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      const std::size_t end = std::min(text.find_first_not_of("-+.0123456789eE", i), text.size());
      const std::string_view token = text.substr(i, end - i);
      if (is_long_integer(token)) {
        out.append(text, copied, end - copied);
        out += "e0";
        copied = end;
      }
      i = end - 1;
    }
  }
  if (copied > 0) out.append(text, copied);
  return out;
}

}  // namespace

Result<Value> parse(std::string_view text, std::vector<std::string>* duplicates) {
  return json::parse(text, boost::json::storage_ptr{}, duplicates);
}

Result<Value> parse(std::string_view text, boost::json::storage_ptr storage,
                    std::vector<std::string>* duplicates) {
  thread_local simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::error_code error = parser.parse(text.data(), text.size(), true).get(root);
  if (error == simdjson::NUMBER_ERROR) {
    const std::string widened = with_long_integers_as_floats(text);
    if (!widened.empty()) error = parser.parse(widened).get(root);
  }
  if (error) return std::unexpected(syntax_error(text, error));
  Value value(std::move(storage));
  const bool shallow = Builder(duplicates).build(root, value, Path{}, 0);
  if (parser.capacity() > kKeptCapacity) parser = simdjson::dom::parser();
  if (!shallow) return std::unexpected(syntax_error(text, simdjson::DEPTH_ERROR));
  return value;
}

}  // namespace hekla::json
