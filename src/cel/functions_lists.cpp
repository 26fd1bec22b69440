// Lists, maps, sets and optional values.
#include "cel/functions.h"

namespace hekla::cel {
namespace {

using Int = std::int64_t;

Result<Value> count_of(Arguments a, Budget&) { return Value(static_cast<Int>(a[0].size())); }

Result<Value> is_sorted(Arguments a, Budget& budget) {
  if (!budget.spend(a[0].size())) return out_of_budget();
  for (std::size_t i = 1; i < a[0].size(); ++i) {
    std::optional<int> order = compare(a[0].at(i - 1), a[0].at(i));
    if (!order) return cel_error("no such overload");
    if (*order > 0) return Value(false);
  }
  return Value(true);
}

template <class Number>
Result<Value> sum_of(Arguments a, Budget& budget) {
  if (!budget.spend(a[0].size())) return out_of_budget();
  Number sum{};
  for (std::size_t i = 0; i < a[0].size(); ++i) {
    const Value one = a[0].at(i);
    const Number* number = one.as<Number>();
    if (number == nullptr) return cel_error("no such overload");
    if constexpr (std::is_floating_point_v<Number>) {
      sum += *number;
    } else if (__builtin_add_overflow(sum, *number, &sum)) {
      return cel_error("integer overflow");
    }
  }
  return Value(sum);
}
Result<Value> sum_of_durations(Arguments a, Budget& budget) {
  if (!budget.spend(a[0].size())) return out_of_budget();
  Int sum = 0;
  for (std::size_t i = 0; i < a[0].size(); ++i) {
    const Value one = a[0].at(i);
    if (one.as<Duration>() == nullptr) return cel_error("no such overload");
    if (__builtin_add_overflow(sum, one.get<Duration>().nanos.count(), &sum))
      return cel_error("duration overflow");
  }
  return Value(Duration{Nanos(sum)});
}

Result<Value> extreme(const Value& list, int wanted, Budget& budget) {
  if (list.size() == 0)
    return cel_error(wanted < 0 ? "min called on empty list" : "max called on empty list");
  if (!budget.spend(list.size())) return out_of_budget();
  Value best = list.at(0);
  for (std::size_t i = 1; i < list.size(); ++i) {
    std::optional<int> order = compare(list.at(i), best);
    if (!order) return cel_error("no such overload");
    if (*order == wanted) best = list.at(i);
  }
  return best;
}
Result<Value> smallest(Arguments a, Budget& budget) { return extreme(a[0], -1, budget); }
Result<Value> greatest(Arguments a, Budget& budget) { return extreme(a[0], 1, budget); }

Result<Value> first_index(Arguments a, Budget& budget) {
  if (!budget.spend(a[0].size())) return out_of_budget();
  for (std::size_t i = 0; i < a[0].size(); ++i)
    if (equal(a[0].at(i), a[1])) return Value(static_cast<Int>(i));
  return Value(Int{-1});
}
Result<Value> last_index(Arguments a, Budget& budget) {
  if (!budget.spend(a[0].size())) return out_of_budget();
  for (std::size_t i = a[0].size(); i-- > 0;)
    if (equal(a[0].at(i), a[1])) return Value(static_cast<Int>(i));
  return Value(Int{-1});
}

bool list_has(const Value& list, const Value& wanted) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (equal(list.at(i), wanted)) return true;
  return false;
}
bool covers(const Value& list, const Value& part) {
  for (std::size_t i = 0; i < part.size(); ++i)
    if (!list_has(list, part.at(i))) return false;
  return true;
}
Result<Value> set_contains(Arguments a, Budget& budget) {
  if (!budget.spend((a[0].size() + 1) * (a[1].size() + 1))) return out_of_budget();
  return Value(covers(a[0], a[1]));
}
Result<Value> set_equivalent(Arguments a, Budget& budget) {
  if (!budget.spend((a[0].size() + 1) * (a[1].size() + 1))) return out_of_budget();
  return Value(covers(a[0], a[1]) && covers(a[1], a[0]));
}
Result<Value> set_intersects(Arguments a, Budget& budget) {
  if (!budget.spend((a[0].size() + 1) * (a[1].size() + 1))) return out_of_budget();
  for (std::size_t i = 0; i < a[1].size(); ++i)
    if (list_has(a[0], a[1].at(i))) return Value(true);
  return Value(false);
}

Result<Value> optional_some(Arguments a, Budget&) { return Value::some(a[0]); }
Result<Value> optional_none(Arguments, Budget&) { return Value::none(); }
bool is_zero(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::null: return true;
    case Value::Kind::boolean: return !value.get<bool>();
    case Value::Kind::integer: return value.get<Int>() == 0;
    case Value::Kind::uinteger: return value.get<std::uint64_t>() == 0;
    case Value::Kind::floating: return value.get<double>() == 0;
    case Value::Kind::string: return value.view().empty();
    case Value::Kind::list:
    case Value::Kind::json_list:
    case Value::Kind::map:
    case Value::Kind::json_map: return value.size() == 0;
    default: return false;
  }
}
Result<Value> optional_non_zero(Arguments a, Budget&) {
  return is_zero(a[0]) ? Value::none() : Value::some(a[0]);
}
Result<Value> optional_has(Arguments a, Budget&) { return Value(a[0].get<Optional>().value != nullptr); }
Result<Value> optional_value(Arguments a, Budget&) {
  const auto& inner = a[0].get<Optional>().value;
  if (!inner) return cel_error("optional.none() dereference");
  return *inner;
}
Result<Value> optional_or(Arguments a, Budget&) { return a[0].get<Optional>().value ? a[0] : a[1]; }
Result<Value> optional_or_value(Arguments a, Budget&) {
  const auto& inner = a[0].get<Optional>().value;
  return inner ? *inner : a[1];
}

constexpr FunctionEntry kLists[] = {
    {"size", false, "(list<A>) int", count_of},
    {"size", true, "(list<A>) int", count_of},
    {"size", false, "(map<A,B>) int", count_of},
    {"size", true, "(map<A,B>) int", count_of},
    {"isSorted", true, "(list<A>) bool", is_sorted},
    {"sum", true, "(list<int>) int", sum_of<Int>},
    {"sum", true, "(list<uint>) uint", sum_of<std::uint64_t>},
    {"sum", true, "(list<double>) double", sum_of<double>},
    {"sum", true, "(list<duration>) duration", sum_of_durations},
    {"min", true, "(list<A>) A", smallest},
    {"max", true, "(list<A>) A", greatest},
    {"indexOf", true, "(list<A>,A) int", first_index},
    {"lastIndexOf", true, "(list<A>,A) int", last_index},
    {"sets.contains", false, "(list<A>,list<A>) bool", set_contains},
    {"sets.equivalent", false, "(list<A>,list<A>) bool", set_equivalent},
    {"sets.intersects", false, "(list<A>,list<A>) bool", set_intersects},
    {"optional.of", false, "(A) optional<A>", optional_some},
    {"optional.ofNonZeroValue", false, "(A) optional<A>", optional_non_zero},
    {"optional.none", false, "() optional<A>", optional_none},
    {"hasValue", true, "(optional<A>) bool", optional_has},
    {"value", true, "(optional<A>) A", optional_value},
    {"or", true, "(optional<A>,optional<A>) optional<A>", optional_or},
    {"orValue", true, "(optional<A>,A) A", optional_or_value},
};

}  // namespace

std::span<const FunctionEntry> list_functions() { return kLists; }

}  // namespace hekla::cel
