// The grammar and the messages are those of apimachinery's labels.Parse and fields.ParseSelector
// (v0.34).
#include "model/selector.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "json/codec.h"
#include "model/names.h"

namespace hekla::model {
namespace {

using Op = Selector::Op;
using Requirement = Selector::Requirement;

enum class Token {
  end,
  identifier,
  in,
  not_in,
  bang,
  open,
  close,
  comma,
  equals,
  not_equals,
  greater,
  less
};
struct Lexeme {
  Token token = Token::end;
  std::string_view text{};
};

std::unexpected<Error> bad(std::string message) {
  return fail(Code::bad_request, std::move(message));
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

bool is_special(char c) { return std::string_view("=!(),><").find(c) != std::string_view::npos; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::optional<Token> literal_token(std::string_view text) {
  if (text == "in") return Token::in;
  if (text == "notin") return Token::not_in;
  if (text == "!") return Token::bang;
  if (text == "(") return Token::open;
  if (text == ")") return Token::close;
  if (text == ",") return Token::comma;
  if (text == "=" || text == "==") return Token::equals;
  if (text == "!=") return Token::not_equals;
  if (text == ">") return Token::greater;
  if (text == "<") return Token::less;
  return std::nullopt;
}

std::vector<Lexeme> scan(std::string_view text) {
  std::vector<Lexeme> lexemes;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && is_space(text[at])) ++at;
    if (at == text.size()) break;
    std::size_t size = 1;
    if (is_special(text[at])) {
      // The longest symbol that is one: "==", "!=", else a single character.
      if (literal_token(text.substr(at, 2)) && at + 1 < text.size()) size = 2;
    } else {
      while (at + size < text.size() && !is_special(text[at + size]) && !is_space(text[at + size]))
        ++size;
    }
    const std::string_view word = text.substr(at, size);
    lexemes.push_back({literal_token(word).value_or(Token::identifier), word});
    at += size;
  }
  lexemes.push_back({});
  return lexemes;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

std::string invalid(std::string_view field, std::string_view value, std::string_view why) {
  std::string text = std::string(field) + ": Invalid value: ";
  json::append_quoted(value, text);
  return text + ": " + std::string(why);
}

std::optional<std::int64_t> integer(std::string_view text) {
  if (text.starts_with("+")) text.remove_prefix(1);
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || at != end) return std::nullopt;
  return number;
}

Result<Requirement> checked(Requirement requirement) {
  const auto& [key, op, values] = requirement;
  if (const auto errors = qualified_name_errors(key); !errors.empty())
    return bad(invalid("key", key, joined(errors)));
  if ((op == Op::in || op == Op::not_in) && values.empty())
    return bad("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
  if ((op == Op::exists || op == Op::absent) && !values.empty())
    return bad("values: Invalid value: " + json::serialize(json::encode(values)) +
               ": values set must be empty for exists and does not exist");
  if (op == Op::greater || op == Op::less) {
    if (values.size() != 1)
      return bad("values: Invalid value: " + json::serialize(json::encode(values)) +
                 ": for 'Gt', 'Lt' operators, exactly one value is required");
    if (!integer(values[0]))
      return bad(invalid("values[0]", values[0],
                         "for 'Gt', 'Lt' operators, the value must be an integer"));
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const auto errors = label_value_errors(values[i]); !errors.empty())
      return bad(
          invalid("values[" + std::to_string(i) + "][" + key + "]", values[i], joined(errors)));
  return requirement;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lexemes_(scan(text)) {}

  Result<std::vector<Requirement>> parse() {
    std::vector<Requirement> requirements;
    while (true) {
      const Lexeme first = peek();
      if (first.token == Token::end) return requirements;
      if (first.token != Token::identifier && first.token != Token::bang)
        return bad("found " + quoted(first.text) + ", expected: !, identifier, or 'end of string'");
      Result<Requirement> requirement = parse_requirement();
      if (!requirement) return bad("unable to parse requirement: " + requirement.error().message);
      requirements.push_back(std::move(*requirement));
      const Lexeme after = take();
      if (after.token == Token::end) return requirements;
      if (after.token != Token::comma)
        return bad("found " + quoted(after.text) + ", expected: ',' or 'end of string'");
      const Lexeme next = peek();
      if (next.token != Token::identifier && next.token != Token::bang)
        return bad("found " + quoted(next.text) + ", expected: identifier after ','");
    }
  }

 private:
  // "in" and "notin" are operators only where one is expected.
  static Lexeme as_value(Lexeme lexeme) {
    if (lexeme.token == Token::in || lexeme.token == Token::not_in)
      lexeme.token = Token::identifier;
    return lexeme;
  }
  Lexeme peek() const { return as_value(lexemes_[at_]); }
  Lexeme take() { return as_value(take_raw()); }
  Lexeme take_raw() {
    // The end is read again and again, never passed.
    return at_ + 1 < lexemes_.size() ? lexemes_[at_++] : lexemes_[at_];
  }

  Result<Requirement> parse_requirement() {
    Lexeme key = take();
    const bool negated = key.token == Token::bang;
    if (negated) key = take();
    if (key.token != Token::identifier)
      return bad("found " + quoted(key.text) + ", expected: identifier");
    if (const auto errors = qualified_name_errors(key.text); !errors.empty())
      return bad(invalid("<nil>", key.text, joined(errors)));
    Requirement requirement{std::string(key.text), negated ? Op::absent : Op::exists, {}};
    const Token next = peek().token;
    if (negated || next == Token::end || next == Token::comma)
      return checked(std::move(requirement));

    const Lexeme op = take_raw();
    switch (op.token) {
      case Token::in:
      case Token::equals:
        requirement.op = Op::in;
        break;
      case Token::not_in:
      case Token::not_equals:
        requirement.op = Op::not_in;
        break;
      case Token::greater:
        requirement.op = Op::greater;
        break;
      case Token::less:
        requirement.op = Op::less;
        break;
      default:
        return bad("found " + quoted(op.text) + ", expected: in, notin, =, ==, !=, gt, lt");
    }
    const bool set = op.token == Token::in || op.token == Token::not_in;
    const std::set<std::string> values = TRY(set ? parse_values() : parse_exact_value());
    requirement.values.assign(values.begin(), values.end());
    return checked(std::move(requirement));
  }

  Result<std::set<std::string>> parse_exact_value() {
    const Token next = peek().token;
    if (next == Token::end || next == Token::comma) return std::set<std::string>{""};
    const Lexeme value = take();
    if (value.token != Token::identifier)
      return bad("found " + quoted(value.text) + ", expected: identifier");
    return std::set{std::string(value.text)};
  }

  // "(a,b)"; an empty place is the empty string.
  Result<std::set<std::string>> parse_values() {
    const Lexeme open = take();
    if (open.token != Token::open) return bad("found " + quoted(open.text) + " expected: '('");
    std::set<std::string> values;
    bool value_before = false;  // whether the place before this lexeme is filled
    while (true) {
      const Lexeme lexeme = take();
      switch (lexeme.token) {
        case Token::identifier:
          if (value_before) return bad("found " + quoted(lexeme.text) + ", expected: ',' or ')'");
          values.emplace(lexeme.text);
          value_before = true;
          break;
        case Token::comma:
        case Token::close:
          if (!value_before) values.emplace("");
          if (lexeme.token == Token::close) return values;
          value_before = false;
          break;
        default:
          return bad(
              "found " + quoted(lexeme.text) +
              (value_before ? ", expected: ',' or ')'" : ", expected: ',', ')' or identifier"));
      }
    }
  }

  std::vector<Lexeme> lexemes_;
  std::size_t at_ = 0;
};

bool requirement_matches(const Requirement& requirement, const std::string* value) {
  const auto& values = requirement.values;
  const auto listed = [&] { return std::ranges::find(values, *value) != values.end(); };
  switch (requirement.op) {
    case Op::in:
      return value != nullptr && listed();
    case Op::not_in:
      return value == nullptr || !listed();
    case Op::exists:
      return value != nullptr;
    case Op::absent:
      return value == nullptr;
    case Op::greater:
    case Op::less: {
      if (value == nullptr || values.size() != 1) return false;
      const auto left = integer(*value), right = integer(values[0]);
      if (!left || !right) return false;
      return requirement.op == Op::greater ? *left > *right : *left < *right;
    }
  }
  return false;
}

std::optional<Op> named_op(std::string_view name) {
  if (name == "In") return Op::in;
  if (name == "NotIn") return Op::not_in;
  if (name == "Exists") return Op::exists;
  if (name == "DoesNotExist") return Op::absent;
  return std::nullopt;
}

void sort_by_key(std::vector<Requirement>& requirements) {
  std::ranges::stable_sort(requirements, {}, &Requirement::key);
}

Result<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ',' || c == '=')
      return bad("invalid field selector: unescaped character in value: " +
                 std::to_string(static_cast<int>(c)));
    if (c != '\\') {
      out.push_back(c);
      continue;
    }
    const std::string_view sequence = text.substr(i, 2);
    if (sequence != "\\\\" && sequence != "\\," && sequence != "\\=")
      return bad("invalid field selector: invalid escape sequence: " + std::string(sequence));
    out.push_back(text[++i]);
  }
  return out;
}

}  // namespace

Result<Selector> Selector::parse(std::string_view text) {
  Selector selector;
  selector.requirements_ = TRY(Parser(text).parse());
  sort_by_key(selector.requirements_);
  return selector;
}

Result<Selector> Selector::from_label_selector(const json::Value& value) {
  Selector selector;
  Labels match_labels;
  std::vector<json::Value> expressions;
  if (value.is_null()) return selector;
  if (!value.is_object()) return bad("a label selector must be an object");
  TRY(json::decode_member(value, "matchLabels", match_labels));
  TRY(json::decode_member(value, "matchExpressions", expressions));
  for (auto& [key, wanted] : match_labels)
    selector.requirements_.push_back(TRY(checked({key, Op::in, {wanted}})));
  for (const json::Value& expression : expressions) {
    const std::string_view name = json::string_at(expression, {"operator"});
    const std::optional<Op> op = named_op(name);
    if (!op) {
      std::string message;
      json::append_quoted(name, message);
      return bad(message + " is not a valid label selector operator");
    }
    Requirement requirement{std::string(json::string_at(expression, {"key"})), *op, {}};
    if (Result<void> done = json::decode_member(expression, "values", requirement.values); !done)
      return std::unexpected(json::detail::rooted(std::move(done).error()));
    selector.requirements_.push_back(TRY(checked(std::move(requirement))));
  }
  sort_by_key(selector.requirements_);
  return selector;
}

Selector Selector::of(const Labels& match_labels) {
  Selector selector;
  for (const auto& [key, value] : match_labels)
    selector.requirements_.push_back({key, Op::in, {value}});
  return selector;
}

bool Selector::matches(const Labels& labels) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& requirement) {
    const auto found = labels.find(requirement.key);
    return requirement_matches(requirement, found == labels.end() ? nullptr : &found->second);
  });
}

bool Selector::matches(const std::function<const std::string*(std::string_view)>& get) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& requirement) {
    return requirement_matches(requirement, get(requirement.key));
  });
}

std::string Selector::text() const {
  std::string text;
  for (const Requirement& requirement : requirements_) {
    if (!text.empty()) text.push_back(',');
    std::vector<std::string> values = requirement.values;
    std::ranges::sort(values);
    std::string list;
    for (const std::string& value : values) list += (&value == &values.front() ? "" : ",") + value;
    const bool one = values.size() == 1;
    switch (requirement.op) {
      case Op::in:
        text += requirement.key + (one ? "=" + list : " in (" + list + ")");
        break;
      case Op::not_in:
        text += requirement.key + (one ? "!=" + list : " notin (" + list + ")");
        break;
      case Op::exists:
        text += requirement.key;
        break;
      case Op::absent:
        text += "!" + requirement.key;
        break;
      case Op::greater:
        text += requirement.key + ">" + list;
        break;
      case Op::less:
        text += requirement.key + "<" + list;
        break;
    }
  }
  return text;
}

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  FieldSelector selector;
  std::size_t start = 0;
  while (start < text.size()) {
    std::size_t end = start;
    while (end < text.size() && text[end] != ',') end += text[end] == '\\' ? 2 : 1;
    end = std::min(end, text.size());
    const std::string_view part = text.substr(start, end - start);
    start = end + 1;
    if (part.empty()) continue;
    // The first "!=", "==" or "=": a "!" counts only right before "=".
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      return bad("invalid selector: '" + std::string(text) + "'; can't understand '" +
                 std::string(part) + "'");
    const bool negated = equals > 0 && part[equals - 1] == '!';
    const bool twice = !negated && part.substr(equals).starts_with("==");
    std::string field(part.substr(0, negated ? equals - 1 : equals));
    std::string value = TRY(unescape(part.substr(equals + (twice ? 2 : 1))));
    selector.terms.push_back({std::move(field), std::move(value), !negated});
  }
  return selector;
}

}  // namespace hekla::model
