// Running a checked expression: a walk over the tree that pays for every step.
#include "cel/program.h"

#include <algorithm>
#include <cmath>

namespace hekla::cel {
namespace {

using Op = Expression::Op;

class Evaluator {
 public:
  Evaluator(const std::vector<Binding>& bindings, Budget& budget)
      : bindings_(bindings), budget_(budget) {}

  Result<Value> visit(const Expression& e) {
    if (!budget_.spend(1)) return out_of_budget();
    switch (e.op) {
      case Op::literal:
        return e.value;
      case Op::identifier:
        return identifier(e);
      case Op::select:
        return select(e);
      case Op::presence:
        return presence(e);
      case Op::index:
        return index(e);
      case Op::call:
        return call(e);
      case Op::logical_and:
        return logical(e, false);
      case Op::logical_or:
        return logical(e, true);
      case Op::conditional:
        return conditional(e);
      case Op::list:
        return list(e);
      case Op::map:
        return map(e);
      case Op::macro:
        return macro(e);
    }
    return cel_error("no such overload");
  }

 private:
  Result<Value> identifier(const Expression& e) {
    for (std::size_t i = scope_.size(); i-- > 0;)
      if (scope_[i].name == e.name) return scope_[i].value;
    for (const Binding& binding : bindings_)
      if (binding.name == e.name) return binding.value;
    return cel_error("no such attribute(s): " + e.name);
  }

  static Result<Value> unwrapped(const Value& value, std::optional<Value> found, bool chained,
                                 bool optional, const std::string& missing) {
    if (chained || optional) {
      if (chained && found && found->kind() == Value::Kind::optional) return *found;
      return found ? Value::some(std::move(*found)) : Value::none();
    }
    if (found) return std::move(*found);
    return cel_error(value.is_list() && missing.starts_with("no such key")
                         ? "unsupported index type 'string' in list"
                         : missing);
  }

  Result<Value> select(const Expression& e) {
    Value from = TRY(visit(*e.arguments[0]));
    const bool chained = from.kind() == Value::Kind::optional;
    if (chained) {
      if (!from.get<Optional>().value) return Value::none();
      from = Value(*from.get<Optional>().value);
    }
    const auto* map = from.as<Map>();
    if (map != nullptr && map->lazy != nullptr && map->lazy->has(e.name))
      return unwrapped(from, TRY(map->lazy->get(e.name, budget_)), chained, e.optional, "");
    return unwrapped(from, from.find_field(e.name), chained, e.optional, "no such key: " + e.name);
  }

  Result<Value> presence(const Expression& e) {
    Value from = TRY(visit(*e.arguments[0]));
    if (from.kind() == Value::Kind::optional) {
      if (!from.get<Optional>().value) return Value(false);
      from = Value(*from.get<Optional>().value);
    }
    if (!from.is_map()) return cel_error("no such overload");
    const auto* map = from.as<Map>();
    if (map != nullptr && map->lazy != nullptr) return Value(map->lazy->has(e.name));
    return Value(from.find_field(e.name).has_value());
  }

  // A number that stands for a position.
  static std::optional<std::int64_t> position(const Value& key) {
    if (const auto* number = key.as<std::int64_t>()) return *number;
    if (const auto* number = key.as<std::uint64_t>(); number && *number <= INT64_MAX)
      return static_cast<std::int64_t>(*number);
    if (const auto* number = key.as<double>();
        number && *number == std::trunc(*number) && std::abs(*number) < 1e15)
      return static_cast<std::int64_t>(*number);
    return std::nullopt;
  }

  Result<Value> index(const Expression& e) {
    Value from = TRY(visit(*e.arguments[0]));
    Value key = TRY(visit(*e.arguments[1]));
    const bool chained = from.kind() == Value::Kind::optional;
    if (chained) {
      if (!from.get<Optional>().value) return Value::none();
      from = Value(*from.get<Optional>().value);
    }
    if (from.is_list()) {
      std::optional<std::int64_t> at = position(key);
      if (!at)
        return cel_error("unsupported index type '" + std::string(key.type_name()) + "' in list");
      std::optional<Value> found;
      if (*at >= 0 && *at < static_cast<std::int64_t>(from.size()))
        found = from.at(static_cast<std::size_t>(*at));
      return unwrapped(from, std::move(found), chained, e.optional,
                       "index out of bounds: " + std::to_string(*at));
    }
    std::optional<Value> found;
    if (from.is_map()) found = from.find(key);
    if (const auto* map = from.as<Map>(); map != nullptr && map->otherwise && !found)
      found = *map->otherwise;
    json::Value shown = to_json(key);
    std::string name =
        shown.is_string() ? std::string(json::sv(shown.get_string())) : json::serialize(shown);
    return unwrapped(from, std::move(found), chained, e.optional, "no such key: " + name);
  }

  Result<Value> call(const Expression& e) {
    std::vector<Value> arguments;
    arguments.reserve(e.arguments.size());
    for (const ExpressionPtr& one : e.arguments) arguments.push_back(TRY(visit(*one)));
    for (const Overload* overload : e.overloads) {
      bool fits = true;
      for (std::size_t i = 0; i < arguments.size() && fits; ++i)
        fits = holds(overload->parameters[i], arguments[i]);
      if (fits) return overload->function(arguments, budget_);
    }
    return cel_error("no such overload");
  }

  // One operand that decides makes up for the errors of the others.
  Result<Value> logical(const Expression& e, bool decisive) {
    std::optional<Error> failure;
    for (const ExpressionPtr& one : e.arguments) {
      Result<Value> value = visit(*one);
      if (!value && value.error().code == Code::timeout) return value;
      if (!value) {
        if (!failure) failure = value.error();
      } else if (const bool* truth = value->as<bool>()) {
        if (*truth == decisive) return Value(decisive);
      } else if (!failure) {
        failure = Error{Code::invalid, "no such overload"};
      }
    }
    if (failure) return std::unexpected(std::move(*failure));
    return Value(!decisive);
  }

  Result<Value> conditional(const Expression& e) {
    Value test = TRY(visit(*e.arguments[0]));
    if (test.as<bool>() == nullptr) return cel_error("no such overload");
    return visit(*e.arguments[test.get<bool>() ? 1 : 2]);
  }

  Result<Value> list(const Expression& e) {
    std::vector<Value> out;
    for (std::size_t i = 0; i < e.arguments.size(); ++i) {
      Value one = TRY(visit(*e.arguments[i]));
      if (!e.optional_entries[i]) {
        out.push_back(std::move(one));
      } else if (one.kind() != Value::Kind::optional) {
        return cel_error("no such overload");
      } else if (one.get<Optional>().value) {
        out.push_back(*one.get<Optional>().value);
      }
    }
    return Value::list(std::move(out));
  }

  Result<Value> map(const Expression& e) {
    std::vector<std::pair<Value, Value>> out;
    for (std::size_t i = 0; i + 1 < e.arguments.size(); i += 2) {
      Value key = TRY(visit(*e.arguments[i]));
      Value value = TRY(visit(*e.arguments[i + 1]));
      if (e.optional_entries[i / 2]) {
        if (value.kind() != Value::Kind::optional) return cel_error("no such overload");
        if (!value.get<Optional>().value) continue;
        value = Value(*value.get<Optional>().value);
      }
      if (!budget_.spend(out.size())) return out_of_budget();
      if (std::any_of(out.begin(), out.end(),
                      [&](const auto& one) { return equal(one.first, key); }))
        return cel_error("Failed with repeated key");
      out.emplace_back(std::move(key), std::move(value));
    }
    return Value::map(std::move(out));
  }

  Result<Value> macro(const Expression& e) {
    Value range = TRY(visit(*e.arguments[0]));
    const std::size_t depth = scope_.size();
    Result<Value> out = e.macro == Macro::bind      ? bound(e, std::move(range))
                        : e.macro >= Macro::opt_map ? optional_macro(e, range)
                                                    : comprehension(e, range);
    scope_.resize(depth);
    return out;
  }

  Result<Value> bound(const Expression& e, Value value) {
    scope_.push_back({e.variables[0], std::move(value)});
    return visit(*e.body);
  }

  Result<Value> optional_macro(const Expression& e, const Value& range) {
    if (range.kind() != Value::Kind::optional) return cel_error("no such overload");
    if (!range.get<Optional>().value) return Value::none();
    scope_.push_back({e.variables[0], *range.get<Optional>().value});
    Value out = TRY(visit(*e.body));
    return e.macro == Macro::opt_flat_map ? out : Value::some(std::move(out));
  }

  // Binds the variables to one element.
  void enter(const Expression& e, const Value& range, std::size_t i, std::size_t depth) {
    scope_.resize(depth);
    if (range.is_map()) {
      auto [key, value] = range.entry(i);
      scope_.push_back({e.variables[0], std::move(key)});
      if (e.variables.size() == 2) scope_.push_back({e.variables[1], std::move(value)});
    } else {
      if (e.variables.size() == 2)
        scope_.push_back({e.variables[0], Value(static_cast<std::int64_t>(i))});
      scope_.push_back({e.variables.back(), range.at(i)});
    }
  }

  Result<void> insert_entries(const Value& made, std::vector<std::pair<Value, Value>>& entries) {
    if (!made.is_map()) return cel_error("no such overload");
    for (std::size_t i = 0; i < made.size(); ++i) {
      auto [key, value] = made.entry(i);
      if (!budget_.spend(entries.size() + 1)) return out_of_budget();
      if (std::any_of(entries.begin(), entries.end(),
                      [&](const auto& one) { return equal(one.first, key); })) {
        json::Value shown = to_json(key);
        return cel_error("insert failed: key " +
                         (shown.is_string() ? std::string(json::sv(shown.get_string()))
                                            : json::serialize(shown)) +
                         " already exists");
      }
      entries.emplace_back(std::move(key), std::move(value));
    }
    return {};
  }

  Result<Value> comprehension(const Expression& e, const Value& range) {
    if (!range.is_list() && !range.is_map()) return cel_error("no such overload");
    const std::size_t depth = scope_.size();
    std::optional<Error> failure;
    std::size_t hits = 0;
    std::vector<Value> list;
    std::vector<std::pair<Value, Value>> entries;
    for (std::size_t i = 0; i < range.size(); ++i) {
      enter(e, range, i, depth);
      const Value first = scope_[depth].value;
      if (e.filter) {
        Value keep = TRY(visit(*e.filter));
        if (!keep.is_true()) continue;
      }
      Result<Value> value = visit(*e.body);
      if (!value) {
        const bool absorbs = e.macro == Macro::all || e.macro == Macro::exists;
        if (!absorbs || value.error().code == Code::timeout) return value;
        failure = value.error();
        continue;
      }
      const bool yes = value->is_true();
      if (e.macro == Macro::all && !yes) return Value(false);
      if (e.macro == Macro::exists && yes) return Value(true);
      hits += yes;
      if (e.macro == Macro::filter && yes) list.push_back(first);
      if (e.macro == Macro::map || e.macro == Macro::transform_list)
        list.push_back(std::move(*value));
      if (e.macro == Macro::sort_by) list.push_back(std::move(*value));
      if (e.macro == Macro::transform_map) entries.emplace_back(first, std::move(*value));
      if (e.macro == Macro::transform_map_entry) TRY(insert_entries(*value, entries));
    }
    if (failure) return std::unexpected(std::move(*failure));
    switch (e.macro) {
      case Macro::all:
        return Value(true);
      case Macro::exists:
        return Value(false);
      case Macro::exists_one:
        return Value(hits == 1);
      case Macro::transform_map:
      case Macro::transform_map_entry:
        return Value::map(std::move(entries));
      case Macro::sort_by:
        return sorted_by(range, Value::list(std::move(list)), budget_);
      default:
        return Value::list(std::move(list));
    }
  }

  const std::vector<Binding>& bindings_;
  Budget& budget_;
  std::vector<Binding> scope_;
};

}  // namespace

Result<std::shared_ptr<const Program>> Program::compile(std::string text,
                                                        const std::vector<Variable>& variables) {
  auto program = std::make_shared<Program>();
  program->text_ = std::move(text);
  auto refused = [&](const std::vector<SyntaxError>& errors) {
    std::string text;
    for (const SyntaxError& error : errors)
      text +=
          (text.empty() ? "" : "\n") + located_error(program->text_, error.offset, error.reason);
    return fail(Code::bad_request, std::move(text));
  };
  auto root = parse_expression(program->text_);
  if (!root) return refused({root.error()});
  auto checked = check_expression(**root, variables);
  if (!checked) return refused(checked.error());
  program->root_ = std::move(*root);
  program->type_ = std::move(checked->type);
  program->used_ = std::move(checked->used);
  return program;
}

Result<Value> Program::run(const std::vector<Binding>& bindings, Budget& budget) const {
  return Evaluator(bindings, budget).visit(*root_);
}

bool Program::uses(std::string_view variable) const {
  return std::find(used_.begin(), used_.end(), variable) != used_.end();
}

}  // namespace hekla::cel
