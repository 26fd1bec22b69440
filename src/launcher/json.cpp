#include "launcher/json.h"

#include <cstdint>

namespace hekla::launcher {
namespace {

constexpr int kDepthMax = 64;

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  std::optional<Json> whole() {
    Json value;
    if (!read(value, 0)) return std::nullopt;
    skip();
    if (!rest_.empty()) return std::nullopt;
    return value;
  }

 private:
  void skip() {
    const std::size_t at = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at);
  }
  bool take(char c) {
    skip();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool read(Json& out, int depth) {
    if (depth > kDepthMax) return false;
    skip();
    if (rest_.empty()) return false;
    switch (rest_.front()) {
      case '{':
        return read_object(out, depth);
      case '[':
        return read_array(out, depth);
      case '"':
        out.kind = Json::Kind::string;
        return read_string(out.text);
      default:
        return read_literal(out);
    }
  }

  bool read_object(Json& out, int depth) {
    out.kind = Json::Kind::object;
    take('{');
    if (take('}')) return true;
    do {
      skip();
      std::string name;
      Json value;
      if (!read_string(name) || !take(':') || !read(value, depth + 1)) return false;
      out.members.emplace_back(std::move(name), std::move(value));
    } while (take(','));
    return take('}');
  }

  bool read_array(Json& out, int depth) {
    out.kind = Json::Kind::array;
    take('[');
    if (take(']')) return true;
    do {
      if (!read(out.items.emplace_back(), depth + 1)) return false;
    } while (take(','));
    return take(']');
  }

  bool read_literal(Json& out) {
    const std::size_t end = rest_.find_first_not_of("+-.0123456789abcdefghijklmnopqrstuvwxyzEIN");
    out.text = rest_.substr(0, end);
    rest_.remove_prefix(out.text.size());
    return !out.text.empty();
  }

  std::optional<std::uint32_t> hex4() {
    if (rest_.size() < 4) return std::nullopt;
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = rest_[static_cast<std::size_t>(i)];
      std::uint32_t digit = 0;
      if (c >= '0' && c <= '9')
        digit = static_cast<std::uint32_t>(c - '0');
      else if ((c | 32) >= 'a' && (c | 32) <= 'f')
        digit = static_cast<std::uint32_t>((c | 32) - 'a' + 10);
      else
        return std::nullopt;
      code = code * 16 + digit;
    }
    rest_.remove_prefix(4);
    return code;
  }

  bool read_escape(std::string& out) {
    if (rest_.empty()) return false;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    static constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (const std::size_t at = kNames.find(c); at != std::string_view::npos) {
      out += kMeant[at];
      return true;
    }
    if (c != 'u') return false;
    std::optional<std::uint32_t> code = hex4();
    if (!code) return false;
    if (*code >= 0xd800 && *code < 0xdc00 && rest_.starts_with("\\u")) {
      rest_.remove_prefix(2);
      const std::optional<std::uint32_t> low = hex4();
      if (!low || *low < 0xdc00 || *low > 0xdfff) return false;
      code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
    }
    append_utf8(out, *code);
    return true;
  }

  bool read_string(std::string& out) {
    if (!take('"')) return false;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (c != '\\')
        out += c;
      else if (!read_escape(out))
        return false;
    }
    return false;
  }

  std::string_view rest_;
};

// Bytes of the UTF-8 character at the front; 0 when it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f))
    return 0;
  return length;
}

}  // namespace

const Json* Json::find(std::string_view name) const {
  for (const auto& [key, value] : members)
    if (key == name) return &value;
  return nullptr;
}

std::string Json::string(std::string_view name) const {
  const Json* found = find(name);
  return found && found->kind == Kind::string ? found->text : std::string();
}

std::optional<Json> parse_json(std::string_view text) { return Parser(text).whole(); }

std::string quoted(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0)
      out += "\xef\xbf\xbd";
    else if (c == '"' || c == '\\')
      out += std::string{'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      out += std::string("\\u00") + kHex[c >> 4] + kHex[c & 15];
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

}  // namespace hekla::launcher
