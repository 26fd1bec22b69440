#include "cel/lexer.h"

#include <array>
#include <charconv>

namespace hekla::cel {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

void append_utf8(std::string& out, std::uint32_t rune) {
  if (rune < 0x80) {
    out += static_cast<char>(rune);
  } else if (rune < 0x800) {
    out += static_cast<char>(0xc0 | rune >> 6);
    out += static_cast<char>(0x80 | (rune & 0x3f));
  } else if (rune < 0x10000) {
    out += static_cast<char>(0xe0 | rune >> 12);
    out += static_cast<char>(0x80 | (rune >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (rune & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | rune >> 18);
    out += static_cast<char>(0x80 | (rune >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (rune >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (rune & 0x3f));
  }
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::expected<std::vector<Token>, SyntaxError> run() {
    while (!failed_) {
      skip_space();
      if (at_ >= text_.size()) break;
      next();
    }
    if (failed_) return std::unexpected(std::move(error_));
    tokens_.push_back({Token::Kind::end, "", {}, text_.size()});
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void fail_at(std::size_t offset, std::string reason) {
    if (!failed_) error_ = {offset, std::move(reason)};
    failed_ = true;
  }

  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  void next() {
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '"' || c == '\'') return string(false, false);
    if (is_letter(c)) {
      // r"", b"", rb"" and the like.
      std::size_t prefix = 0;
      bool raw = false, bytes = false;
      while (prefix < 2 && std::string_view("rRbB").find(peek(prefix)) != std::string_view::npos) {
        (peek(prefix) == 'r' || peek(prefix) == 'R' ? raw : bytes) = true;
        ++prefix;
      }
      if (prefix > 0 && (peek(prefix) == '"' || peek(prefix) == '\'')) {
        at_ += prefix;
        return string(raw, bytes);
      }
      return name();
    }
    if (c == '`') return quoted_name();
    sign();
  }

  void name() {
    const std::size_t start = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    tokens_.push_back(
        {Token::Kind::name, std::string(text_.substr(start, at_ - start)), {}, start});
  }

  void quoted_name() {
    const std::size_t start = at_++;
    const std::size_t end = text_.find('`', at_);
    if (end == std::string_view::npos || end == at_)
      return fail_at(start, "Syntax error: token recognition error at: '`'");
    tokens_.push_back(
        {Token::Kind::name, std::string(text_.substr(at_, end - at_)), {}, start, true});
    at_ = end + 1;
  }

  void sign() {
    static constexpr std::array<std::string_view, 8> kDouble{
        "==", "!=", "<=", ">=", "&&", "||", ".?", "[?"};
    for (std::string_view two : kDouble)
      if (text_.substr(at_).starts_with(two)) {
        tokens_.push_back({Token::Kind::sign, std::string(two), {}, at_});
        at_ += 2;
        return;
      }
    static constexpr std::string_view kSingle = "+-*/%<>!?:.,()[]{}";
    if (kSingle.find(peek()) == std::string_view::npos)
      return fail_at(at_,
                     "Syntax error: token recognition error at: '" + std::string(1, peek()) + "'");
    tokens_.push_back({Token::Kind::sign, std::string(1, peek()), {}, at_});
    ++at_;
  }

  void number() {
    const std::size_t start = at_;
    const bool hex = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
    bool floating = false;
    if (hex) {
      at_ += 2;
      while (is_hex(peek())) ++at_;
    } else {
      while (is_digit(peek())) ++at_;
      if (peek() == '.' && is_digit(peek(1))) {
        floating = true;
        ++at_;
        while (is_digit(peek())) ++at_;
      }
      if ((peek() == 'e' || peek() == 'E') &&
          (is_digit(peek(1)) || ((peek(1) == '+' || peek(1) == '-') && is_digit(peek(2))))) {
        floating = true;
        at_ += 2;
        while (is_digit(peek())) ++at_;
      }
    }
    number_value(start, hex, floating);
  }

  void number_value(std::size_t start, bool hex, bool floating) {
    std::string_view digits = text_.substr(start, at_ - start);
    Token token{Token::Kind::literal, std::string(digits), {}, start};
    if (floating) {
      double value = 0;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (error != std::errc{}) return fail_at(start, "invalid double literal");
      token.value = Value(value);
    } else {
      const std::string_view body = hex ? digits.substr(2) : digits;
      std::uint64_t value = 0;
      auto [end, error] =
          std::from_chars(body.data(), body.data() + body.size(), value, hex ? 16 : 10);
      const bool is_unsigned = peek() == 'u' || peek() == 'U';
      if (is_unsigned) ++at_;
      // -9223372036854775808 is the one literal whose digits exceed an int.
      if (error != std::errc{} || body.empty() || (!is_unsigned && value > std::uint64_t{1} << 63))
        return fail_at(start, is_unsigned ? "invalid uint literal" : "invalid int literal");
      const bool lowest = value == std::uint64_t{1} << 63;
      const bool negated = !tokens_.empty() && tokens_.back().text == "-";
      if (!is_unsigned && lowest && !negated) return fail_at(start, "invalid int literal");
      token.value = is_unsigned ? Value(value) : Value(static_cast<std::int64_t>(value));
    }
    tokens_.push_back(std::move(token));
  }

  void string(bool raw, bool bytes) {
    const std::size_t start = at_;
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    std::string out;
    for (;;) {
      if (at_ >= text_.size() || (!triple && peek() == '\n'))
        return fail_at(start, "Syntax error: token recognition error at: '" +
                                  std::string(text_.substr(start, at_ - start)) + "'");
      if (peek() == quote && (!triple || (peek(1) == quote && peek(2) == quote))) break;
      if (peek() == '\\' && !raw) {
        ++at_;
        if (!escape(out, bytes)) return fail_at(start, "Syntax error: invalid escape sequence");
      } else {
        out += text_[at_++];
      }
    }
    at_ += triple ? 3 : 1;
    Text text = Text::owned(std::move(out));
    tokens_.push_back({Token::Kind::literal, "", bytes ? Value(Bytes{text}) : Value(text), start});
  }

  // Behind the backslash.
  bool escape(std::string& out, bool bytes) {
    static constexpr std::string_view kFrom = "abfnrtv\\?\"'`", kTo = "\a\b\f\n\r\t\v\\?\"'`";
    const char c = peek();
    if (const std::size_t index = kFrom.find(c); c != '\0' && index != std::string_view::npos) {
      out += kTo[index];
      ++at_;
      return true;
    }
    std::size_t digits = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    int base = 16;
    if (digits == 0) {
      if (c < '0' || c > '3') return false;
      digits = 3;
      base = 8;
    } else {
      ++at_;
    }
    std::uint32_t rune = 0;
    std::string_view body = text_.substr(std::min(at_, text_.size()), digits);
    auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), rune, base);
    if (error != std::errc{} || body.size() != digits || end != body.data() + body.size())
      return false;
    at_ += digits;
    if (rune > 0x10ffff || (rune >= 0xd800 && rune < 0xe000)) return false;
    if (bytes && digits <= 3)
      out += static_cast<char>(rune);
    else
      append_utf8(out, rune);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool failed_ = false;
  SyntaxError error_;
  std::vector<Token> tokens_;
};

}  // namespace

std::expected<std::vector<Token>, SyntaxError> tokenize(std::string_view text) {
  return Lexer(text).run();
}

}  // namespace hekla::cel
