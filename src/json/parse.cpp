// JSON text to values: simdjson reads into its tape, which is then read as a View or built into a
// Value. simdjson's DOM does not say where an error is, so a document that fails is scanned once
// more by Boost.JSON's incremental parser, for the message only.
#include "json/parse.h"

#include <simdjson.h>

#include <boost/json/stream_parser.hpp>
#include <charconv>

#include "json/view.h"

namespace hekla::json {
namespace {

// A thread keeps a few parsers; one that had to grow beyond this is given back.
constexpr std::size_t kKeptCapacity = std::size_t{4} << 20;
constexpr std::size_t kKeptParsers = 4;

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
  void report_to(std::vector<std::string>* duplicates) const {
    if (duplicates != nullptr && duplicates->size() < kMaxDuplicates)
      append_to(duplicates->emplace_back());
  }
};

class Builder {
 public:
  explicit Builder(std::vector<std::string>* duplicates) : duplicates_(duplicates) {}

  // False when nested too deeply.
  bool build(const View& from, Value& out, const Path& path, std::size_t depth) {
    if (from.is_string()) {
      out.emplace_string() = from.get_string();
    } else if (from.is_object()) {
      return depth < kMaxDepth && build_object(from, out.emplace_object(), path, depth + 1);
    } else if (from.is_array()) {
      return depth < kMaxDepth && build_array(from, out.emplace_array(), path, depth + 1);
    } else if (from.is_int64()) {
      out.emplace_int64() = from.get_int64();
    } else if (from.is_bool()) {
      out.emplace_bool() = from.get_bool();
    } else if (from.is_double()) {
      out.emplace_double() = from.get_double();
    } else if (from.is_uint64()) {
      out.emplace_uint64() = from.get_uint64();
    } else {
      out.emplace_null();
    }
    return true;
  }

 private:
  bool build_array(const View& from, Array& out, const Path& path, std::size_t depth) {
    out.reserve(from.size());
    bool shallow = true;
    from.for_each_element([&](const View& element) {
      const Path here{&path, {}, out.size(), true};
      shallow = build(element, out.emplace_back(nullptr), here, depth);
      return shallow;
    });
    return shallow;
  }

  bool build_object(const View& from, Object& out, const Path& path, std::size_t depth) {
    out.reserve(from.size());
    bool shallow = true;
    from.for_each_member([&](std::string_view key, const View& value) {
      const Path here{&path, key, 0, false};
      const auto [member, fresh] = out.emplace(key, nullptr);
      if (!fresh) here.report_to(duplicates_);
      shallow = build(value, member->value(), here, depth);
      return shallow;
    });
    return shallow;
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

Error too_deep() {
  return {Code::bad_request, "cannot parse JSON: nested deeper than " + std::to_string(kMaxDepth)};
}

Error syntax_error(std::string_view text, simdjson::error_code code) {
  std::string message = "cannot parse JSON: ";
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return {Code::bad_request, message + "unexpected end of JSON input"};
  if (code == simdjson::DEPTH_ERROR) return too_deep();
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

struct Document::Parser {
  simdjson::dom::parser simdjson;
};

Document::Document(std::unique_ptr<Parser> parser) : parser_(std::move(parser)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

namespace {

// The parsers this thread is not using: a codec that parses while a document is being decoded takes
// another one.
template <class Parser>
std::vector<std::unique_ptr<Parser>>& idle_parsers() {
  thread_local std::vector<std::unique_ptr<Parser>> idle;
  return idle;
}

}  // namespace

Document::~Document() {
  if (!parser_ || parser_->simdjson.capacity() > kKeptCapacity) return;
  auto& idle = idle_parsers<Parser>();
  if (idle.size() < kKeptParsers) idle.push_back(std::move(parser_));
}

Result<Document> Document::parse(std::string_view text) {
  auto& idle = idle_parsers<Parser>();
  Document document(idle.empty() ? std::make_unique<Parser>() : std::move(idle.back()));
  if (!idle.empty()) idle.pop_back();
  if (text.empty()) text = "";  // a view of nothing has no address, and simdjson copies from it
  simdjson::dom::parser& parser = document.parser_->simdjson;
  simdjson::error_code error = parser.parse(text.data(), text.size(), true).error();
  if (error == simdjson::NUMBER_ERROR) {
    const std::string widened = with_long_integers_as_floats(text);
    if (!widened.empty()) error = parser.parse(widened).error();
  }
  if (error) return std::unexpected(syntax_error(text, error));
  return document;
}

View Document::root() const {
  const simdjson::dom::document& document = parser_->simdjson.doc;
  // The first word is the tape's own.
  return {document.tape.get() + 1, document.tape.get(), document.string_buf.get()};
}

std::optional<View> View::find(std::string_view name) const {
  std::optional<View> found;
  for_each_member([&](std::string_view key, const View& value) {
    if (key == name) found = value;
    return true;
  });
  return found;
}

Result<Value> to_value(const View& view, boost::json::storage_ptr storage,
                       std::vector<std::string>* duplicates) {
  Value value(std::move(storage));
  if (!Builder(duplicates).build(view, value, Path{}, 0)) return std::unexpected(too_deep());
  return value;
}

Result<Value> parse(std::string_view text, boost::json::storage_ptr storage,
                    std::vector<std::string>* duplicates) {
  const Document document = TRY(Document::parse(text));
  return to_value(document.root(), std::move(storage), duplicates);
}

Result<Value> parse(std::string_view text, std::vector<std::string>* duplicates) {
  return json::parse(text, boost::json::storage_ptr{}, duplicates);
}

}  // namespace hekla::json
