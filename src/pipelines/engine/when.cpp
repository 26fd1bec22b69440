#include "pipelines/engine/when.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

#include "cel/pattern.h"

namespace hekla::pipelines::engine {
namespace {

constexpr int kNestedMax = 100;

using Operand = std::variant<bool, double, std::string, std::vector<std::string>>;

struct Token {
  enum class Kind { number, text, sign, end } kind = Kind::end;
  std::string text;
  bool quoted = false;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
         (c & 0x80) != 0;
}

class When {
 public:
  explicit When(const std::string& text) : text_(text) {}

  Result<bool> evaluate() {
    TRY(read_tokens());
    const Operand got = TRY(any(0));
    if (peek().kind != Token::Kind::end) return bad("unexpected \"" + peek().text + "\"");
    if (const bool* holds = std::get_if<bool>(&got)) return *holds;
    return bad("it is neither true nor false");
  }

 private:
  std::unexpected<Error> bad(const std::string& reason) const {
    return fail(Code::bad_request, "invalid 'when' expression '" + text_ + "': " + reason);
  }

  Result<void> read_tokens() {
    static constexpr std::string_view two[] = {"==", "!=", "<=", ">=", "&&", "||", "=~", "!~"};
    std::size_t at = 0;
    while (at < text_.size()) {
      const char c = text_[at];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at;
      } else if (c == '"' || c == '\'') {
        TRY(read_quoted(at));
      } else if (is_word(c)) {
        read_word(at);
      } else {
        std::size_t length = 1;
        for (const std::string_view sign : two)
          if (std::string_view(text_).substr(at).starts_with(sign)) length = 2;
        if (length == 1 && std::string_view("<>!()+-*/%,").find(c) == std::string_view::npos)
          return bad("unexpected character '" + std::string(1, c) +
                     "' (hint: try wrapping the affected expression in quotes (\"))");
        tokens_.push_back({Token::Kind::sign, text_.substr(at, length)});
        at += length;
      }
    }
    tokens_.emplace_back();
    return {};
  }

  Result<void> read_quoted(std::size_t& at) {
    const char quote = text_[at++];
    std::string word;
    for (; at < text_.size() && text_[at] != quote; ++at) {
      if (text_[at] == '\\' && at + 1 < text_.size()) ++at;
      word += text_[at];
    }
    if (at == text_.size()) return bad("a quote has no end");
    ++at;
    tokens_.push_back({Token::Kind::text, std::move(word), true});
    return {};
  }

  void read_word(std::size_t& at) {
    const std::size_t begin = at;
    double number = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at, text_.data() + text_.size(), number);
    const auto stop = static_cast<std::size_t>(end - text_.data());
    const bool whole = error == std::errc{} && is_digit(text_[begin]) &&
                       (stop == text_.size() || !is_word(text_[stop]));
    if (whole)
      at = stop;
    else
      while (at < text_.size() && is_word(text_[at])) ++at;
    tokens_.push_back(
        {whole ? Token::Kind::number : Token::Kind::text, text_.substr(begin, at - begin)});
  }

  const Token& peek() const { return tokens_[at_]; }
  bool take(std::string_view sign) {
    if (peek().kind != Token::Kind::sign || peek().text != sign) return false;
    ++at_;
    return true;
  }

  Result<bool> boolean(const Operand& operand) const {
    if (const bool* value = std::get_if<bool>(&operand)) return *value;
    return bad("&&, || and ! take true and false alone");
  }

  // Both sides are read, as errors on either count.
  Result<Operand> any(int depth) {
    if (depth > kNestedMax) return bad("it is nested too deeply");
    Operand left = TRY(all(depth));
    while (take("||")) {
      const Operand right = TRY(all(depth));
      const bool a = TRY(boolean(left)), b = TRY(boolean(right));
      left = a || b;
    }
    return left;
  }
  Result<Operand> all(int depth) {
    Operand left = TRY(comparison(depth));
    while (take("&&")) {
      const Operand right = TRY(comparison(depth));
      const bool a = TRY(boolean(left)), b = TRY(boolean(right));
      left = a && b;
    }
    return left;
  }

  Result<Operand> comparison(int depth) {
    Operand left = TRY(sum(depth));
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">", "=~", "!~"})
      if (take(sign)) {
        const Operand right = TRY(sum(depth));
        const bool holds = TRY(compare(left, sign, right));
        return Operand(holds);
      }
    if (peek().kind == Token::Kind::text && !peek().quoted && peek().text == "in") {
      ++at_;
      const std::vector<std::string> list = TRY(list_of_texts());
      const std::string word = shown(left);
      for (const std::string& one : list)
        if (one == word) return Operand(true);
      return Operand(false);
    }
    return left;
  }

  Result<std::vector<std::string>> list_of_texts() {
    std::vector<std::string> all;
    if (!take("(")) return bad("a list in parentheses must follow \"in\"");
    while (peek().kind == Token::Kind::number || peek().kind == Token::Kind::text) {
      all.push_back(peek().text);
      ++at_;
      if (!take(",")) break;
    }
    if (!take(")")) return bad("a list has no end");
    return all;
  }

  static std::string shown(const Operand& operand) {
    if (const std::string* text = std::get_if<std::string>(&operand)) return *text;
    if (const bool* value = std::get_if<bool>(&operand)) return *value ? "true" : "false";
    if (const double* number = std::get_if<double>(&operand)) {
      char buffer[64];
      const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, *number);
      return {buffer, end};
    }
    return {};
  }

  Result<bool> compare(const Operand& left, std::string_view sign, const Operand& right) const {
    if (sign == "=~" || sign == "!~") {
      auto pattern = cel::Pattern::compile(shown(right));
      if (!pattern) return bad(pattern.error().message);
      return (*pattern)->matches(shown(left)) == (sign == "=~");
    }
    if (sign == "==" || sign == "!=") return (left == right) == (sign == "==");
    const double* a = std::get_if<double>(&left);
    const double* b = std::get_if<double>(&right);
    int order = 0;
    if (a && b) {
      order = *a < *b ? -1 : *a > *b ? 1 : 0;
    } else {
      const std::string* x = std::get_if<std::string>(&left);
      const std::string* y = std::get_if<std::string>(&right);
      if (!x || !y)
        return bad("\"" + shown(left) + "\" and \"" + shown(right) + "\" have no order by \"" +
                   std::string(sign) + "\"");
      order = x->compare(*y);
    }
    if (sign == "<") return order < 0;
    if (sign == "<=") return order <= 0;
    return sign == ">" ? order > 0 : order >= 0;
  }

  Result<Operand> sum(int depth) {
    Operand left = TRY(product(depth));
    for (;;) {
      const bool plus = take("+");
      if (!plus && !take("-")) return left;
      const Operand right = TRY(product(depth));
      const double* a = std::get_if<double>(&left);
      const double* b = std::get_if<double>(&right);
      if (a && b)
        left = plus ? *a + *b : *a - *b;
      else if (plus)
        left = shown(left) + shown(right);
      else
        return bad(
            "only numbers can be subtracted (hint: try wrapping the affected expression in "
            "quotes (\"))");
    }
  }
  Result<Operand> product(int depth) {
    Operand left = TRY(unary(depth));
    for (;;) {
      char sign = 0;
      for (const char c : {'*', '/', '%'})
        if (sign == 0 && take(std::string_view(&c, 1))) sign = c;
      if (sign == 0) return left;
      const Operand right = TRY(unary(depth));
      const double* a = std::get_if<double>(&left);
      const double* b = std::get_if<double>(&right);
      if (!a || !b) return bad("only numbers can be multiplied and divided");
      left = sign == '*' ? *a * *b : sign == '/' ? *a / *b : std::fmod(*a, *b);
    }
  }
  Result<Operand> unary(int depth) {
    if (depth > kNestedMax) return bad("it is nested too deeply");
    if (take("!")) {
      const Operand inner = TRY(unary(depth + 1));
      const bool holds = TRY(boolean(inner));
      return Operand(!holds);
    }
    if (take("-")) {
      const Operand inner = TRY(unary(depth + 1));
      const double* number = std::get_if<double>(&inner);
      if (!number) return bad("only numbers can be negative");
      return Operand(-*number);
    }
    if (take("(")) {
      Operand inner = TRY(any(depth + 1));
      if (!take(")")) return bad("a parenthesis has no end");
      return inner;
    }
    const Token token = peek();
    if (token.kind != Token::Kind::number && token.kind != Token::Kind::text)
      return bad(token.kind == Token::Kind::end ? "it ends too early"
                                                : "unexpected \"" + token.text + "\"");
    ++at_;
    if (token.kind == Token::Kind::text) {
      if (!token.quoted && (token.text == "true" || token.text == "false"))
        return Operand(token.text == "true");
      return Operand(token.text);
    }
    double number = 0;
    std::from_chars(token.text.data(), token.text.data() + token.text.size(), number);
    return Operand(number);
  }

  const std::string& text_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

Result<bool> evaluate_when(const std::string& text) { return When(text).evaluate(); }

}  // namespace hekla::pipelines::engine
