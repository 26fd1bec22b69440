// Types of a whole expression before it ever runs: a misspelt field is the author's error, not the
// user's.
#include <algorithm>

#include "cel/pattern.h"
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
    switch (e.op) {
      case Op::literal:
        return literal(e.value);
      case Op::identifier:
        return identifier(e);
      case Op::select:
        return select(e);
      case Op::presence:
        select(e);
        return simple_type(Kind::boolean);
      case Op::index:
        return index(e);
      case Op::call:
        return call(e);
      case Op::logical_and:
      case Op::logical_or:
        return logical(e);
      case Op::conditional:
        return conditional(e);
      case Op::list:
        return list(e);
      case Op::map:
        return map(e);
      case Op::macro:
        return macro(e);
    }
    return {};
  }

  // Every mistake; what has one is taken for anything, so that nothing is said twice.
  std::vector<SyntaxError> errors;
  std::vector<std::string> used;

 private:
  Type fail_at(const Expression& e, std::string reason) {
    errors.push_back({e.offset, std::move(reason)});
    return {};
  }

  static Type open_type() {
    Type out;
    out.open = true;
    return out;
  }

  static Type literal(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::boolean:
        return simple_type(Kind::boolean);
      case Value::Kind::integer:
        return simple_type(Kind::integer);
      case Value::Kind::uinteger:
        return simple_type(Kind::uinteger);
      case Value::Kind::floating:
        return simple_type(Kind::floating);
      case Value::Kind::string:
        return simple_type(Kind::string);
      case Value::Kind::bytes:
        return simple_type(Kind::bytes);
      default:
        return simple_type(Kind::null);
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
    for (std::string_view name :
         {"bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"})
      if (name == e.name) return type_name(e, e.name);
    return fail_at(e, "undeclared reference to '" + e.name + "' (in container '')");
  }

  static Type type_name(Expression& e, std::string name) {
    e.op = Op::literal;
    e.value = Value(TypeName{std::move(name)});
    e.arguments.clear();
    return simple_type(Kind::type);
  }

  // "a.b.c" for a chain of plain selections from a name that no variable has.
  std::optional<std::string> dotted(const Expression& e) const {
    if (e.op == Op::identifier) {
      auto named = [&](const Variable& one) { return one.name == e.name; };
      if (std::any_of(scope_.begin(), scope_.end(), named) ||
          std::any_of(environment_.begin(), environment_.end(), named))
        return std::nullopt;
      return e.name;
    }
    if (e.op != Op::select || e.optional) return std::nullopt;
    std::optional<std::string> head = dotted(*e.arguments[0]);
    if (head) *head += "." + e.name;
    return head;
  }

  Type field(const Expression& e, const Type& from) {
    switch (from.kind) {
      case Kind::dyn:
        return {};
      case Kind::map:
        return inner(from.element);
      case Kind::object: {
        const bool plain = !from.shape->has_fields();
        const std::string name = plain ? e.name : unescape_name(e.name);
        const bool reserved = !plain && escape_name(name) != e.name && !reserved_name(e.name);
        std::optional<Type> type = from.shape->field(name);
        if (!type || reserved) return fail_at(e, "undefined field '" + e.name + "'");
        return std::move(*type);
      }
      case Kind::authorizer:
      case Kind::path_check:
      case Kind::group_check:
      case Kind::resource_check:
      case Kind::decision:
        return fail_at(e, "unexpected failed resolution of '" + from.short_text() + "'");
      default:
        return fail_at(e, "type '" + from.short_text() + "' does not support field selection");
    }
  }

  // A variable of the environment whose name has a dot in it: authorizer.requestResource.
  const Variable* qualified(const Expression& e) const {
    const Expression& from = *e.arguments[0];
    if (from.op != Op::identifier || e.op != Op::select || e.optional) return nullptr;
    for (const Variable& local : scope_)
      if (local.name == from.name) return nullptr;
    const std::string name = from.name + "." + e.name;
    for (const Variable& variable : environment_)
      if (variable.name == name) return &variable;
    return nullptr;
  }

  Type select(Expression& e) {
    if (const Variable* variable = qualified(e)) {
      e.op = Op::identifier;
      e.name = variable->name;
      e.arguments.clear();
      return identifier(e);
    }
    if (const std::optional<std::string> name = dotted(e))
      for (std::string_view type :
           {"google.protobuf.Timestamp", "google.protobuf.Duration", "net.IP", "net.CIDR",
            "kubernetes.Quantity", "kubernetes.URL", "kubernetes.NamedFormat", "kubernetes.Semver"})
        if (type == *name) return type_name(e, *name);
    Type from = visit(*e.arguments[0]);
    if (from.kind == Kind::optional) return optional_of(field(e, inner(from.element)));
    Type type = field(e, from);
    return e.optional ? optional_of(std::move(type)) : type;
  }

  Type index(Expression& e) {
    Type from = visit(*e.arguments[0]);
    Type key = visit(*e.arguments[1]);
    const bool chained = from.kind == Kind::optional;
    if (chained) from = Type(inner(from.element));
    Type out;
    Bindings none;
    if (from.kind == Kind::list) {
      if (key.kind != Kind::integer && key.kind != Kind::dyn)
        return no_overload(e, "_[_]", {from, key});
      out = inner(from.element);
    } else if (from.kind == Kind::map) {
      if (!assignable(inner(from.key), key, none)) return no_overload(e, "_[_]", {from, key});
      out = inner(from.element);
    } else if (from.kind != Kind::dyn) {
      return no_overload(e, "_[_]", {from, key});
    } else {
      out.open = e.optional || chained;
    }
    return e.optional || chained ? optional_of(std::move(out)) : out;
  }

  Type no_overload(const Expression& e, const std::string& name, const std::vector<Type>& types,
                   bool member = false) {
    std::string text = "found no matching overload for '" + name + "' applied to '";
    std::size_t from = 0;
    if (member) text += types[from++].short_text() + ".";
    text += "(";
    for (std::size_t i = from; i < types.size(); ++i)
      text += (i > from ? ", " : "") + types[i].short_text();
    return fail_at(e, text + ")'");
  }

  Type call(Expression& e) {
    std::vector<Type> types;
    const bool printed =
        e.member && e.name == "format";  // its lists and maps hold whatever is to be shown
    mixed_ += printed;
    for (const ExpressionPtr& one : e.arguments) types.push_back(visit(*one));
    mixed_ -= printed;
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
      if (type.kind != Kind::boolean && type.kind != Kind::dyn)
        fail_at(*one, "expected type 'bool' but found '" + type.short_text() + "'");
    }
    return simple_type(Kind::boolean);
  }

  Type conditional(Expression& e) {
    Type test = visit(*e.arguments[0]);
    Type yes = visit(*e.arguments[1]);
    Type no = visit(*e.arguments[2]);
    Bindings none;
    const bool test_fits = test.kind == Kind::boolean || test.kind == Kind::dyn;
    if (!test_fits || !(assignable(yes, no, none) || assignable(no, yes, none)))
      return no_overload(e, "_?_:_", {test, yes, no});
    return join(yes, no);
  }

  // Elements of a literal agree in type.
  void gather(std::optional<Type>& all, const Expression& e, Type one) {
    if (!all) {
      all = std::move(one);
    } else if (mixed_ == 0 && !same_type(*all, one)) {
      fail_at(e, "expected type '" + all->short_text() + "' but found '" + one.short_text() + "'");
    } else {
      all = join(*all, one);
    }
  }

  Type list(Expression& e) {
    std::optional<Type> element;
    for (std::size_t i = 0; i < e.arguments.size(); ++i) {
      Type one = visit(*e.arguments[i]);
      if (e.optional_entries[i])
        one = one.kind == Kind::optional ? Type(inner(one.element)) : Type{};
      gather(element, *e.arguments[i], std::move(one));
    }
    return list_of(element.value_or(open_type()));
  }

  Type map(Expression& e) {
    std::optional<Type> key, value;
    for (std::size_t i = 0; i + 1 < e.arguments.size(); i += 2) {
      gather(key, *e.arguments[i], visit(*e.arguments[i]));
      Type one = visit(*e.arguments[i + 1]);
      if (e.optional_entries[i / 2])
        one = one.kind == Kind::optional ? Type(inner(one.element)) : Type{};
      gather(value, *e.arguments[i + 1], std::move(one));
    }
    return map_of(key.value_or(open_type()), value.value_or(open_type()));
  }

  // The variables' types, by what is ranged over.
  std::vector<Type> range_types(Expression& e, const Type& range) {
    const bool two = e.variables.size() == 2;
    std::vector<Type> out;
    if (e.macro == Macro::bind) {
      out = {range};
    } else if (e.macro == Macro::opt_map || e.macro == Macro::opt_flat_map) {
      if (range.kind != Kind::optional && range.kind != Kind::dyn) {
        no_overload(e, e.name, {range}, true);
        return {Type()};
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
      fail_at(*e.arguments[0],
              "expression of type '" + range.short_text() +
                  "' cannot be range of a comprehension (must be list, map, or dynamic)");
      out.resize(e.variables.size());
    }
    return out;
  }

  static bool ordered(const Type& type) {
    return type.kind == Kind::dyn || type.kind == Kind::duration || type.kind == Kind::timestamp ||
           (type.kind >= Kind::boolean && type.kind <= Kind::bytes);
  }

  Type macro(Expression& e) {
    Type range = visit(*e.arguments[0]);
    const std::vector<Type> types = range_types(e, range);
    for (std::size_t i = 0; i < e.variables.size(); ++i)
      scope_.push_back({e.variables[i], types[i]});
    if (e.filter) {
      Type test = visit(*e.filter);
      if (test.kind != Kind::boolean && test.kind != Kind::dyn)
        fail_at(*e.filter, "expected type 'bool' but found '" + test.short_text() + "'");
    }
    Type body = visit(*e.body);
    scope_.resize(scope_.size() - e.variables.size());
    const bool boolean = body.kind == Kind::boolean || body.kind == Kind::dyn;
    switch (e.macro) {
      case Macro::all:
      case Macro::exists:
      case Macro::exists_one:
      case Macro::filter:
        if (!boolean)
          fail_at(*e.body, "expected type 'bool' but found '" + body.short_text() + "'");
        if (e.macro != Macro::filter) return simple_type(Kind::boolean);
        return list_of(types[0]);
      case Macro::map:
      case Macro::transform_list:
        return list_of(std::move(body));
      case Macro::transform_map:
        return map_of(types[0], std::move(body));
      case Macro::transform_map_entry:
        if (body.kind != Kind::map && body.kind != Kind::dyn)
          return no_overload(*e.body, "cel.@mapInsert", {map_of({}, {}), body});
        return body.kind == Kind::map ? body : map_of({}, {});
      case Macro::sort_by:
        if (!ordered(body))
          return no_overload(e, "@sortByAssociatedKeys", {range, list_of(body)}, true);
        return range;
      case Macro::opt_map:
        return optional_of(std::move(body));
      default:
        return body;
    }
  }

  const std::vector<Variable>& environment_;
  std::vector<Variable> scope_;
  int mixed_ = 0;  // within what may hold values of different types
};

// Texts that are a duration, a time or a regular expression are read at once: they will be no
// better later.
void check_literals(const Expression& e, std::vector<SyntaxError>& errors) {
  for (const ExpressionPtr& one : e.arguments) check_literals(*one, errors);
  for (const Expression* one : {e.filter.get(), e.body.get()})
    if (one != nullptr) check_literals(*one, errors);
  if (e.op != Op::call) return;
  const bool pattern = e.name == "matches" || e.name == "find" || e.name == "findAll";
  const bool time = !e.member && (e.name == "duration" || e.name == "timestamp");
  const std::size_t at = pattern ? 1 : 0;
  if (!(pattern || time) || e.arguments.size() <= at || e.arguments[at]->op != Op::literal) return;
  const Value& value = e.arguments[at]->value;
  bool valid = true;
  if (pattern && value.kind() == Value::Kind::string) {
    valid = Pattern::compile(value.view()).has_value();
  } else if (time) {
    Budget budget(1000);
    for (const Overload* overload : e.overloads)
      valid = overload->function({&value, 1}, budget).has_value();
  }
  if (!valid) errors.push_back({e.arguments[at]->offset, "invalid " + e.name + " argument"});
}

}  // namespace

std::expected<CheckedExpression, std::vector<SyntaxError>> check_expression(
    Expression& root, const std::vector<Variable>& variables) {
  Checker checker(variables);
  Type type = checker.visit(root);
  if (checker.errors.empty()) check_literals(root, checker.errors);
  if (!checker.errors.empty()) {
    std::stable_sort(
        checker.errors.begin(), checker.errors.end(),
        [](const SyntaxError& a, const SyntaxError& b) { return a.offset < b.offset; });
    return std::unexpected(std::move(checker.errors));
  }
  return CheckedExpression{std::move(type), std::move(checker.used)};
}

}  // namespace hekla::cel
