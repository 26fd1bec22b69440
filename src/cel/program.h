// A compiled CEL expression: parsed and type-checked once, run as often as wanted, from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/expression.h"
#include "cel/functions.h"
#include "cel/type.h"

namespace hekla::cel {

struct Variable {
  std::string name;
  Type type;
};

struct Binding {
  std::string_view name;
  Value value;
};

class Program {
 public:
  // The schemas in the variables' types must outlive the program. Errors are bad_request with the
  // compiler's text, position and all.
  static Result<std::shared_ptr<const Program>> compile(std::string text,
                                                        const std::vector<Variable>& variables);

  // `invalid` when the expression fails, `timeout` when the budget is used up.
  Result<Value> run(const std::vector<Binding>& bindings, Budget& budget) const;

  const std::string& text() const { return text_; }
  const Type& type() const { return type_; }
  // Whether the expression mentions this variable of its environment.
  bool uses(std::string_view variable) const;

 private:
  std::string text_;
  ExpressionPtr root_;
  Type type_;
  std::vector<std::string> used_;
};

// The checker: types of everything below `root`, overloads resolved in place.
struct CheckedExpression {
  Type type;
  std::vector<std::string> used;  // variables of the environment
};
std::expected<CheckedExpression, std::vector<SyntaxError>> check_expression(
    Expression& root, const std::vector<Variable>& variables);

}  // namespace hekla::cel
