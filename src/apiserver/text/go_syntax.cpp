// encoding/json's scanner as far as its errors go: which character it refuses and what it was
// looking for.
#include "apiserver/text/go_syntax.h"

#include <vector>

namespace hekla::apiserver {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_in(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

std::string quoted(char c) {
  if (c == '\'') return R"('\'')";
  if (c == '\\') return R"('\\')";
  switch (c) {
    case '\n':
      return R"('\n')";
    case '\r':
      return R"('\r')";
    case '\t':
      return R"('\t')";
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && byte < 0x7f) return std::string("'") + c + "'";
  static constexpr char kHex[] = "0123456789abcdef";
  // Go takes the byte for a code point.
  if (byte >= 0xa0) {
    std::string text = "'";
    text += static_cast<char>(0xc0 | (byte >> 6));
    text += static_cast<char>(0x80 | (byte & 0x3f));
    return text + "'";
  }
  const bool low = byte < 0x80;
  return std::string("'") + (low ? "\\x" : "\\u00") + kHex[byte >> 4] + kHex[byte & 15] + "'";
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::string error() {
    if (document()) return {};
    return at_ >= text_.size() ? "unexpected end of JSON input"
                               : "invalid character " + quoted(text_[at_]) + " " + wanted_;
  }

 private:
  bool document() {
    skip_space();
    if (!value()) return false;
    skip_space();
    return at_ >= text_.size() || refuse("after top-level value");
  }

  bool refuse(std::string wanted) {
    wanted_ = std::move(wanted);
    return false;
  }
  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool next_in(std::string_view set) const { return at_ < text_.size() && is_in(set, text_[at_]); }
  void skip_space() {
    while (next_in(" \t\r\n")) ++at_;
  }

  // Values without recursion: `open_` holds the brackets we are in.
  bool value() {
    while (true) {
      skip_space();
      if (next_is('{') || next_is('[')) {
        const char bracket = text_[at_++];
        skip_space();
        if (!next_is(bracket == '{' ? '}' : ']')) {
          open_.push_back(bracket);
          if (bracket == '{' && !key()) return false;
          continue;
        }
        ++at_;
      } else if (!scalar()) {
        return false;
      }
      bool more = false;
      while (!open_.empty() && !more)
        if (!after_element(more)) return false;
      if (!more) return true;
    }
  }

  // The comma or bracket behind an element.
  bool after_element(bool& more) {
    skip_space();
    const bool object = open_.back() == '{';
    if (next_is(',')) {
      ++at_;
      more = true;
      if (!object) return true;
      skip_space();
      return key();
    }
    if (!next_is(object ? '}' : ']'))
      return refuse(object ? "after object key:value pair" : "after array element");
    ++at_;
    open_.pop_back();
    return true;
  }

  bool key() {
    if (!next_is('"')) return refuse("looking for beginning of object key string");
    if (!string()) return false;
    skip_space();
    if (!next_is(':')) return refuse("after object key");
    ++at_;
    return true;
  }

  bool scalar() {
    if (next_is('"')) return string();
    if (next_is('-') || next_in(kDigits)) return number();
    for (std::string_view literal : {"true", "false", "null"})
      if (next_is(literal[0])) return word(literal);
    return refuse("looking for beginning of value");
  }

  bool word(std::string_view literal) {
    for (std::size_t i = 0; i < literal.size(); ++i, ++at_)
      if (!next_is(literal[i]))
        return refuse("in literal " + std::string(literal) + " (expecting " + quoted(literal[i]) +
                      ")");
    return true;
  }

  bool number() {
    if (next_is('-')) ++at_;
    if (next_is('0')) {
      ++at_;
    } else if (!digits()) {
      return refuse("in numeric literal");
    }
    if (next_is('.')) {
      ++at_;
      if (!digits()) return refuse("after decimal point in numeric literal");
    }
    if (next_in("eE")) {
      ++at_;
      if (next_in("+-")) ++at_;
      if (!digits()) return refuse("in exponent of numeric literal");
    }
    return true;
  }

  bool digits() {
    const std::size_t from = at_;
    while (next_in(kDigits)) ++at_;
    return at_ > from;
  }

  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (next_is('"')) return ++at_, true;
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return refuse("in string literal");
      if (!next_is('\\')) continue;
      ++at_;
      if (next_is('u')) {
        for (int i = 0; i < 4; ++i) {
          ++at_;
          if (!next_in("0123456789abcdefABCDEF"))
            return refuse("in \\u hexadecimal character escape");
        }
      } else if (!next_in("bfnrt\\/\"")) {
        return refuse("in string escape code");
      }
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string wanted_;
  std::vector<char> open_;
};

}  // namespace

std::string go_syntax_error(std::string_view text) { return Scanner(text).error(); }

std::string summarize_body(std::string_view body) {
  constexpr std::size_t kShown = 30;
  if (body.empty()) return "<empty>";
  const std::string_view shown = body.substr(0, kShown);
  const std::string more = body.size() > kShown ? " ..." : "";
  if (body.front() == '{') return std::string(shown) + more;
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (char c : shown) {
    text += kHex[static_cast<unsigned char>(c) >> 4];
    text += kHex[static_cast<unsigned char>(c) & 15];
  }
  return text + more;
}

}  // namespace hekla::apiserver
