// Types of a whole expression before it ever runs: a misspelt field is the author's error, not the user's.
#include <algorithm>

#include "cel/program.h"

namespace hekla::cel {
namespace {

using Kind = Type::Kind;
using Op = Expression::Op;

const Type& inner(const std::shared_ptr<const Type>& type) {
  static const Type kDyn;
  return type ? *type : kDyn;
}

class Checker {
 public:
  explicit Checker(const std::vector<Variable>& variables) : environment_(variables) {}

  Type visit(Expression& e) {
    if (failed) return {};
    switch (e.op) {
      case Op::literal: return literal(e.value);
      case Op::identifier: return identifier(e);
      case Op::select: return select(e);
      case Op::presence: select(e); return simple_type(Kind::boolean);
      case Op::index: return index(e);
      case Op::call: return call(e);
      case Op::logical_and:
      case Op::logical_or: return logical(e);
      case Op::conditional: return conditional(e);
      case Op::list: return list(e);
      case Op::map: return map(e);
      case Op::macro: return macro(e);
    }
    return {};
  }

  bool failed = false;
  SyntaxError error;
  std::vector<std::string> used;

 private:
  Type fail_at(const Expression& e, std::string reason) {
    if (!failed) error = {e.offset, std::move(reason)};
    failed = true;
    return {};
  }

  static Type literal(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::boolean: return simple_type(Kind::boolean);
      case Value::Kind::integer: return simple_type(Kind::integer);
      case Value::Kind::uinteger: return simple_type(Kind::uinteger);
      case Value::Kind::floating: return simple_type(Kind::floating);
      case Value::Kind::string: return simple_type(Kind::string);
      case Value::Kind::bytes: return simple_type(Kind::bytes);
      default: return simple_type(Kind::null);
    }
  }

  Type identifier(Expression& e) {
    for (std::size_t i = scope_.size(); i-- > 0;)
      if (scope_[i].name == e.name) return scope_[i].type;
    for (const Variable& variable : environment_)
      if (variable.name == e.name) {
        if (std::find(used.begin(), used.end(), e.name) == used.end()) used.push_back(e.name);
        return variable.type;
      }
    // Names of types are values, too.
    for (std::string_view name : {"bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type"})
      if (name == e.name) {
        e.op = Op::literal;
        e.value = Value(TypeName{e.name});
        return simple_type(Kind::type);
      }
    return fail_at(e, "undeclared reference to '" + e.name + "' (in container '')");
  }

  Type field(const Expression& e, const Type& from) {
    switch (from.kind) {
      case Kind::dyn: return {};
      case Kind::map: return inner(from.element);
      case Kind::object: {
        const std::string name = unescape_name(e.name);
        const bool reserved = escape_name(name) != e.name;
        std::optional<Type> type = from.shape->field(name);
        if (!type || reserved) return fail_at(e, "undefined field '" + e.name + "'");
        return std::move(*type);
      }
      default:
        return fail_at(e, "type '" + from.text() + "' does not support field selection");
    }
  }

  Type select(Expression& e) {
    Type from = visit(*e.arguments[0]);
    if (failed) return {};
    if (from.kind == Kind::optional) return optional_of(field(e, inner(from.element)));
    Type type = field(e, from);
    return e.optional ? optional_of(std::move(type)) : type;
  }

  Type index(Expression& e) {
    Type from = visit(*e.arguments[0]);
    Type key = visit(*e.arguments[1]);
    if (failed) return {};
    const bool chained = from.kind == Kind::optional;
    if (chained) from = Type(inner(from.element));
    Type out;
    Bindings none;
    if (from.kind == Kind::list) {
      const bool number = key.kind == Kind::integer || key.kind == Kind::uinteger ||
                          key.kind == Kind::floating || key.kind == Kind::dyn;
      if (!number) return no_overload(e, "_[_]", {from, key});
      out = inner(from.element);
    } else if (from.kind == Kind::map) {
      if (!assignable(inner(from.key), key, none)) return no_overload(e, "_[_]", {from, key});
      out = inner(from.element);
    } else if (from.kind != Kind::dyn) {
      return no_overload(e, "_[_]", {from, key});
    }
    return e.optional || chained ? optional_of(std::move(out)) : out;
  }

  Type no_overload(const Expression& e, const std::string& name, const std::vector<Type>& types,
                   bool member = false) {
    std::string text = "found no matching overload for '" + name + "' applied to '";
    std::size_t from = 0;
    if (member) text += types[from++].text() + ".";
    text += "(";
    for (std::size_t i = from; i < types.size(); ++i) text += (i > from ? ", " : "") + types[i].text();
    return fail_at(e, text + ")'");
  }

  Type call(Expression& e) {
    std::vector<Type> types;
    mixed_ = e.member && e.name == "format";  // its list holds whatever is to be printed
    for (const ExpressionPtr& one : e.arguments) types.push_back(visit(*one));
    if (failed) return {};
    if (!function_exists(e.name))
      return fail_at(e, "undeclared reference to '" + e.name + "' (in container '')");
    Type result;
    bool first = true;
    for (const Overload* overload : find_overloads(e.name, e.member)) {
      if (overload->parameters.size() != types.size()) continue;
      Bindings bindings;
      bool fits = true;
      for (std::size_t i = 0; i < types.size() && fits; ++i)
        fits = assignable(overload->parameters[i], types[i], bindings);
      if (!fits) continue;
      e.overloads.push_back(overload);
      Type one = substitute(overload->result, bindings);
      result = first ? std::move(one) : join(result, one);
      first = false;
    }
    if (first) return no_overload(e, e.name, types, e.member);
    return result;
  }

  Type logical(Expression& e) {
    for (const ExpressionPtr& one : e.arguments) {
      Type type = visit(*one);
      if (failed) return {};
      if (type.kind != Kind::boolean && type.kind != Kind::dyn)
        return fail_at(*one, "expected type 'bool' but found '" + type.text() + "'");
    }
    return simple_type(Kind::boolean);
  }

  Type conditional(Expression& e) {
    Type test = visit(*e.arguments[0]);
    Type yes = visit(*e.arguments[1]);
    Type no = visit(*e.arguments[2]);
    if (failed) return {};
    Bindings none;
    const bool test_fits = test.kind == Kind::boolean || test.kind == Kind::dyn;
    if (!test_fits || !(assignable(yes, no, none) || assignable(no, yes, none)))
      return no_overload(e, "_?_:_", {test, yes, no});
    return join(yes, no);
  }

  // Elements of a literal agree in type.
  bool gather(std::optional<Type>& all, const Expression& e, Type one, bool mixed = false) {
    if (failed) return false;
    Bindings none;
    if (!all) {
      all = std::move(one);
    } else if (!mixed && !assignable(*all, one, none) && !assignable(one, *all, none)) {
      fail_at(e, "expected type '" + all->text() + "' but found '" + one.text() + "'");
      return false;
    } else {
      all = join(*all, one);
    }
    return true;
  }

  Type list(Expression& e) {
    std::optional<Type> element;
    const bool mixed = std::exchange(mixed_, false);
    for (std::size_t i = 0; i < e.arguments.size(); ++i) {
      Type one = visit(*e.arguments[i]);
      if (e.optional_entries[i]) one = one.kind == Kind::optional ? Type(inner(one.element)) : Type{};
      if (!gather(element, *e.arguments[i], std::move(one), mixed)) return {};
    }
    return list_of(element.value_or(Type{}));
  }

  Type map(Expression& e) {
    std::optional<Type> key, value;
    for (std::size_t i = 0; i + 1 < e.arguments.size(); i += 2) {
      if (!gather(key, *e.arguments[i], visit(*e.arguments[i]))) return {};
      Type one = visit(*e.arguments[i + 1]);
      if (e.optional_entries[i / 2]) one = one.kind == Kind::optional ? Type(inner(one.element)) : Type{};
      if (!gather(value, *e.arguments[i + 1], std::move(one))) return {};
    }
    return map_of(key.value_or(Type{}), value.value_or(Type{}));
  }

  // The variables' types, by what is ranged over.
  bool range_types(Expression& e, const Type& range, std::vector<Type>& out) {
    const bool two = e.variables.size() == 2;
    if (e.macro == Macro::bind) {
      out = {range};
    } else if (e.macro == Macro::opt_map || e.macro == Macro::opt_flat_map) {
      if (range.kind != Kind::optional && range.kind != Kind::dyn) {
        no_overload(e, e.name, {range}, true);
        return false;
      }
      out = {inner(range.element)};
    } else if (range.kind == Kind::list) {
      out = {inner(range.element)};
      if (two) out.insert(out.begin(), simple_type(Kind::integer));
    } else if (range.kind == Kind::map) {
      out = {inner(range.key)};
      if (two) out.push_back(inner(range.element));
    } else if (range.kind == Kind::dyn) {
      out.resize(e.variables.size());
    } else {
      fail_at(*e.arguments[0], "expression of type '" + range.text() +
                                   "' cannot be range of a comprehension (must be list, map, or dynamic)");
      return false;
    }
    return true;
  }

  Type macro(Expression& e) {
    Type range = visit(*e.arguments[0]);
    std::vector<Type> types;
    if (failed || !range_types(e, range, types)) return {};
    for (std::size_t i = 0; i < e.variables.size(); ++i) scope_.push_back({e.variables[i], types[i]});
    if (e.filter) {
      Type test = visit(*e.filter);
      if (!failed && test.kind != Kind::boolean && test.kind != Kind::dyn)
        fail_at(*e.filter, "expected type 'bool' but found '" + test.text() + "'");
    }
    Type body = visit(*e.body);
    scope_.resize(scope_.size() - e.variables.size());
    if (failed) return {};
    const bool boolean = body.kind == Kind::boolean || body.kind == Kind::dyn;
    switch (e.macro) {
      case Macro::all:
      case Macro::exists:
      case Macro::exists_one:
      case Macro::filter:
        if (!boolean) return fail_at(*e.body, "expected type 'bool' but found '" + body.text() + "'");
        if (e.macro != Macro::filter) return simple_type(Kind::boolean);
        return list_of(types[0]);
      case Macro::map:
      case Macro::transform_list: return list_of(std::move(body));
      case Macro::transform_map: return map_of(types[0], std::move(body));
      case Macro::opt_map: return optional_of(std::move(body));
      default: return body;
    }
  }

  const std::vector<Variable>& environment_;
  std::vector<Variable> scope_;
  bool mixed_ = false;  // the next list may hold values of different types
};

}  // namespace

std::expected<CheckedExpression, SyntaxError> check_expression(Expression& root,
                                                               const std::vector<Variable>& variables) {
  Checker checker(variables);
  Type type = checker.visit(root);
  if (checker.failed) return std::unexpected(std::move(checker.error));
  return CheckedExpression{std::move(type), std::move(checker.used)};
}

}  // namespace hekla::cel
