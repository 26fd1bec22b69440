// Recursive descent over CEL's grammar. Macros are recognised here, so that everything later sees
// either a call or a comprehension.
#include <algorithm>
#include <array>

#include "cel/lexer.h"

namespace hekla::cel {
namespace {

using Op = Expression::Op;

constexpr std::array<std::string_view, 21> kNotIdentifiers{
    "in",       "as",  "break",  "const", "continue", "else",    "for",
    "function", "if",  "import", "let",   "loop",     "package", "namespace",
    "return",   "var", "void",   "while", "true",     "false",   "null"};

struct MacroForm {
  std::string_view name;
  Macro macro;
  std::size_t variables, arguments;  // without the range
};
constexpr std::array<MacroForm, 20> kMacros{
    {{"all", Macro::all, 1, 2},
     {"all", Macro::all, 2, 3},
     {"exists", Macro::exists, 1, 2},
     {"exists", Macro::exists, 2, 3},
     {"exists_one", Macro::exists_one, 1, 2},
     {"exists_one", Macro::exists_one, 2, 3},
     {"existsOne", Macro::exists_one, 1, 2},
     {"existsOne", Macro::exists_one, 2, 3},
     {"map", Macro::map, 1, 2},
     {"map", Macro::map, 1, 3},
     {"filter", Macro::filter, 1, 2},
     {"transformList", Macro::transform_list, 2, 3},
     {"transformList", Macro::transform_list, 2, 4},
     {"transformMap", Macro::transform_map, 2, 3},
     {"transformMap", Macro::transform_map, 2, 4},
     {"transformMapEntry", Macro::transform_map_entry, 2, 3},
     {"transformMapEntry", Macro::transform_map_entry, 2, 4},
     {"sortBy", Macro::sort_by, 1, 2},
     {"optMap", Macro::opt_map, 1, 2},
     {"optFlatMap", Macro::opt_flat_map, 1, 2}}};

// Counted without recursion, because this is what makes recursion safe.
int height_of(const Expression& root) {
  std::vector<std::pair<const Expression*, int>> open{{&root, 1}};
  int height = 0;
  while (!open.empty()) {
    auto [node, level] = open.back();
    open.pop_back();
    height = std::max(height, level);
    for (const ExpressionPtr& child : node->arguments) open.emplace_back(child.get(), level + 1);
    for (const Expression* child : {node->filter.get(), node->body.get()})
      if (child != nullptr) open.emplace_back(child, level + 1);
  }
  return height;
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::expected<ExpressionPtr, SyntaxError> run() {
    ExpressionPtr root = expression();
    if (!failed_ && peek().kind != Token::Kind::end)
      fail_at(peek().offset, "Syntax error: extraneous input " + shown() + " expecting <EOF>");
    if (!failed_ && height_of(*root) > 4 * kExpressionDepthMax)
      fail_at(0, "expression recursion limit exceeded: " + std::to_string(4 * kExpressionDepthMax));
    if (failed_) return std::unexpected(std::move(error_));
    return root;
  }

 private:
  const Token& peek() const { return tokens_[at_]; }
  bool is(std::string_view sign) const {
    return peek().kind == Token::Kind::sign && peek().text == sign;
  }
  bool accept(std::string_view sign) {
    if (failed_ || !is(sign)) return false;
    ++at_;
    return true;
  }
  // One of those signs, as messages name them; the first is what is taken.
  void expect(std::string_view sign, std::string_view expected = {}) {
    if (accept(sign)) return;
    const std::string one = "'" + std::string(sign) + "'";
    fail_at(peek().offset, sign == ")" && peek().kind == Token::Kind::end
                               ? "Syntax error: missing ')' at '<EOF>'"
                               : "Syntax error: mismatched input " + shown() + " expecting " +
                                     (expected.empty() ? one : std::string(expected)));
  }
  std::string shown() const {
    const Token& token = peek();
    if (token.kind == Token::Kind::end) return "'<EOF>'";
    return "'" + (token.text.empty() ? std::string("literal") : token.text) + "'";
  }
  void unexpected() {
    fail_at(peek().offset,
            "Syntax error: mismatched input " + shown() + " expecting " +
                "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, "
                "NUM_UINT, STRING, BYTES, IDENTIFIER}");
  }
  void fail_at(std::size_t offset, std::string reason) {
    if (!failed_) error_ = {offset, std::move(reason)};
    failed_ = true;
    at_ = tokens_.size() - 1;
  }

  ExpressionPtr make(Op op, std::size_t offset) {
    auto made = std::make_unique<Expression>();
    made->op = op;
    made->offset = offset;
    return made;
  }
  template <class... Arguments>
  ExpressionPtr call(std::string name, std::size_t offset, Arguments... arguments) {
    ExpressionPtr made = make(Op::call, offset);
    made->name = std::move(name);
    (made->arguments.push_back(std::move(arguments)), ...);
    return made;
  }

  ExpressionPtr expression() {
    if (++depth_ > kExpressionDepthMax) {
      fail_at(peek().offset,
              "expression recursion limit exceeded: " + std::to_string(kExpressionDepthMax));
    }
    ExpressionPtr out = failed_ ? make(Op::literal, 0) : conditional();
    --depth_;
    return out;
  }

  ExpressionPtr conditional() {
    ExpressionPtr test = binary(0);
    const std::size_t offset = peek().offset;
    if (!accept("?")) return test;
    ExpressionPtr out = make(Op::conditional, offset);
    out->arguments.push_back(std::move(test));
    out->arguments.push_back(binary(0));
    expect(":");
    out->arguments.push_back(expression());
    return out;
  }

  // By precedence: ||, &&, relations, sums, products. A chain leans left and counts as depth,
  // because it is evaluated by recursion.
  ExpressionPtr binary(std::size_t level) {
    static const std::array<std::vector<std::string_view>, 5> kLevels{
        {{"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">=", "in"}, {"+", "-"}, {"*", "/", "%"}}};
    if (level == kLevels.size()) return unary();
    ExpressionPtr left = binary(level + 1);
    for (int length = 0; !failed_; ++length) {
      const Token& token = peek();
      const bool matches = token.kind == Token::Kind::sign ||
                           (token.kind == Token::Kind::name && token.text == "in" && !token.quoted);
      if (!matches || std::find(kLevels[level].begin(), kLevels[level].end(), token.text) ==
                          kLevels[level].end())
        break;
      if (length >= 2 * kExpressionDepthMax) {
        fail_at(token.offset, "expression recursion limit exceeded");
        break;
      }
      ++at_;
      ExpressionPtr right = binary(level + 1);
      if (level < 2) {
        ExpressionPtr joined = make(level == 0 ? Op::logical_or : Op::logical_and, token.offset);
        if (left->op == joined->op && left->member == false) {
          left->arguments.push_back(std::move(right));  // one node for a chain
          continue;
        }
        joined->arguments.push_back(std::move(left));
        joined->arguments.push_back(std::move(right));
        left = std::move(joined);
      } else {
        std::string name = token.text == "in" ? "@in" : "_" + token.text + "_";
        left = call(std::move(name), token.offset, std::move(left), std::move(right));
      }
    }
    return left;
  }

  ExpressionPtr unary() {
    const std::size_t offset = peek().offset;
    std::size_t nots = 0, minuses = 0;
    while (accept("!")) ++nots;
    if (nots > 0) {
      ExpressionPtr inner = postfix();
      return nots % 2 == 0 && nots > 0 ? call("!_", offset, call("!_", offset, std::move(inner)))
                                       : call("!_", offset, std::move(inner));
    }
    while (accept("-")) ++minuses;
    if (minuses == 0) return postfix();
    if (minuses == 1 && peek().kind == Token::Kind::literal) {
      Value& value = tokens_[at_].value;
      if (const auto* number = value.as<std::int64_t>()) {
        value = Value(static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(*number)));
        return postfix();
      }
      if (const auto* number = value.as<double>()) {
        value = Value(-*number);
        return postfix();
      }
    }
    ExpressionPtr inner = postfix();
    for (std::size_t i = 0; i < (minuses % 2 == 0 ? 2u : 1u); ++i)
      inner = call("-_", offset, std::move(inner));
    return inner;
  }

  ExpressionPtr postfix() {
    ExpressionPtr out = primary();
    for (int length = 0; !failed_; ++length) {
      const std::size_t offset = peek().offset;
      if (length > kExpressionDepthMax) {
        fail_at(offset,
                "expression recursion limit exceeded: " + std::to_string(kExpressionDepthMax));
      } else if (accept(".?")) {
        out = select(std::move(out), offset, true);
      } else if (accept(".")) {
        out = select(std::move(out), offset, false);
      } else if (is("[") || is("[?")) {
        const bool optional = accept("[?");
        if (!optional) expect("[");
        ExpressionPtr index = make(Op::index, offset);
        index->optional = optional;
        index->arguments.push_back(std::move(out));
        index->arguments.push_back(expression());
        expect("]");
        out = std::move(index);
      } else {
        break;
      }
    }
    return out;
  }

  ExpressionPtr select(ExpressionPtr from, std::size_t offset, bool optional) {
    if (peek().kind != Token::Kind::name) {
      fail_at(peek().offset, "Syntax error: no viable alternative at input '.'");
      return from;
    }
    const std::string name = tokens_[at_++].text;
    if (!optional && is("(")) return member_call(std::move(from), name);
    ExpressionPtr out = make(Op::select, offset);
    out->name = name;
    out->optional = optional;
    out->arguments.push_back(std::move(from));
    return out;
  }

  std::vector<ExpressionPtr> call_arguments() {
    std::vector<ExpressionPtr> out;
    expect("(");
    if (accept(")")) return out;
    do out.push_back(expression());
    while (accept(","));
    expect(")");
    return out;
  }

  ExpressionPtr member_call(ExpressionPtr from, const std::string& name) {
    const std::size_t offset = peek().offset;
    std::vector<ExpressionPtr> arguments = call_arguments();
    if (failed_) return from;
    if (from->op == Op::identifier) {
      if (from->name == "cel" && name == "bind" && arguments.size() == 3)
        return bind(std::move(arguments), offset);
      // Functions in a name space: sets.contains(a, b), optional.of(x).
      if (from->name == "sets" || from->name == "optional" || from->name == "strings" ||
          from->name == "format" || from->name == "ip" || from->name == "lists") {
        ExpressionPtr out = make(Op::call, offset);
        out->name = from->name + "." + name;
        out->arguments = std::move(arguments);
        return out;
      }
    }
    for (const MacroForm& form : kMacros) {
      if (form.name != name || form.arguments != arguments.size()) continue;
      for (std::size_t i = 0; i < form.variables; ++i)
        if (arguments[i]->op != Op::identifier) {
          fail_at(arguments[i]->offset, "argument must be a simple name");
          return from;
        }
      return comprehension(std::move(from), form, std::move(arguments), offset);
    }
    ExpressionPtr out = make(Op::call, offset);
    out->name = name;
    out->member = true;
    out->arguments.push_back(std::move(from));
    for (ExpressionPtr& one : arguments) out->arguments.push_back(std::move(one));
    return out;
  }

  ExpressionPtr comprehension(ExpressionPtr range, const MacroForm& form,
                              std::vector<ExpressionPtr> arguments, std::size_t offset) {
    ExpressionPtr out = make(Op::macro, offset);
    out->macro = form.macro;
    out->name = form.name;
    out->arguments.push_back(std::move(range));
    for (std::size_t i = 0; i < form.variables; ++i) out->variables.push_back(arguments[i]->name);
    out->body = std::move(arguments.back());
    if (arguments.size() == form.variables + 2) out->filter = std::move(arguments[form.variables]);
    return out;
  }

  ExpressionPtr bind(std::vector<ExpressionPtr> arguments, std::size_t offset) {
    if (arguments[0]->op != Op::identifier) {
      fail_at(offset, "cel.bind() variable names must be simple identifiers");
      return std::move(arguments[0]);
    }
    ExpressionPtr out = make(Op::macro, offset);
    out->macro = Macro::bind;
    out->name = "cel.bind";
    out->variables.push_back(arguments[0]->name);
    out->arguments.push_back(std::move(arguments[1]));
    out->body = std::move(arguments[2]);
    return out;
  }

  ExpressionPtr primary() {
    const Token& token = peek();
    if (token.kind == Token::Kind::literal) {
      ExpressionPtr out = make(Op::literal, token.offset);
      out->value = token.value;
      ++at_;
      return out;
    }
    if (token.kind == Token::Kind::name) return named();
    if (accept("(")) {
      ExpressionPtr inner = expression();
      // A chain in parentheses is an operand of its own.
      if (inner->op == Op::logical_and || inner->op == Op::logical_or) inner->member = true;
      expect(")");
      return inner;
    }
    if (is("[") || is("[?")) return list();
    if (is("{")) return map();
    accept(".");  // a leading dot asks for the root name space, the only one there is
    if (peek().kind == Token::Kind::name) return named();
    unexpected();
    return make(Op::literal, token.offset);
  }

  ExpressionPtr named() {
    const Token token = tokens_[at_++];
    if (token.text == "true" || token.text == "false" || token.text == "null") {
      ExpressionPtr out = make(Op::literal, token.offset);
      if (token.text != "null") out->value = Value(token.text == "true");
      return out;
    }
    if (std::find(kNotIdentifiers.begin(), kNotIdentifiers.end(), token.text) !=
        kNotIdentifiers.end())
      fail_at(token.offset, "reserved identifier: " + token.text);
    if (!is("(")) {
      ExpressionPtr out = make(Op::identifier, token.offset);
      out->name = token.text;
      return out;
    }
    const std::size_t offset = peek().offset;
    std::vector<ExpressionPtr> arguments = call_arguments();
    ExpressionPtr out = make(Op::call, offset);
    out->name = token.text;
    out->arguments = std::move(arguments);
    if (failed_ || token.text != "has") return out;
    if (out->arguments.size() != 1 || out->arguments[0]->op != Op::select ||
        out->arguments[0]->optional) {
      fail_at(out->arguments.empty() ? offset : out->arguments[0]->offset,
              "invalid argument to has() macro");
      return out;
    }
    ExpressionPtr test = std::move(out->arguments[0]);
    test->op = Op::presence;
    test->offset = offset;
    return test;
  }

  ExpressionPtr list() {
    ExpressionPtr out = make(Op::list, peek().offset);
    bool optional = accept("[?");
    if (!optional) expect("[");
    if (!optional && accept("]")) return out;
    for (;;) {
      optional = accept("?") || optional;
      out->arguments.push_back(expression());
      out->optional_entries.push_back(optional);
      optional = false;
      if (!accept(",") || is("]")) break;
    }
    expect("]", "{']', ','}");
    return out;
  }

  ExpressionPtr map() {
    ExpressionPtr out = make(Op::map, peek().offset);
    expect("{");
    if (accept("}")) return out;
    for (;;) {
      out->optional_entries.push_back(accept("?"));
      out->arguments.push_back(expression());
      expect(":");
      out->arguments.push_back(expression());
      if (!accept(",") || is("}")) break;
    }
    expect("}");
    return out;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
  SyntaxError error_;
};

}  // namespace

std::expected<ExpressionPtr, SyntaxError> parse_expression(std::string_view text) {
  if (text.size() > kExpressionBytesMax)
    return std::unexpected(SyntaxError{
        0, "expression code point size exceeds limit: size: " + std::to_string(text.size()) +
               ", limit " + std::to_string(kExpressionBytesMax)});
  auto tokens = tokenize(text);
  if (!tokens) return std::unexpected(std::move(tokens).error());
  return Parser(std::move(*tokens)).run();
}

std::string located_error(std::string_view text, std::size_t offset, std::string_view reason) {
  offset = std::min(offset, text.size());
  const std::size_t line_begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
  std::size_t line_end = text.find('\n', offset);
  if (line_end == std::string_view::npos) line_end = text.size();
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(line_begin), '\n');
  std::string out = "ERROR: <input>:" + std::to_string(line) + ":" +
                    std::to_string(offset - line_begin + 1) + ": " + std::string(reason);
  out += "\n | " + std::string(text.substr(line_begin, line_end - line_begin));
  out += "\n | " + std::string(offset - line_begin, '.') + "^";
  return out;
}

}  // namespace hekla::cel
