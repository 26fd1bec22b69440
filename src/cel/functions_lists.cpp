// Lists, maps, sets and optional values.
#include <algorithm>

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

Result<Value> slice_of(Arguments a, Budget& budget) {
  const Int from = a[1].get<Int>(), to = a[2].get<Int>(), size = static_cast<Int>(a[0].size());
  const std::string what =
      "cannot slice(" + std::to_string(from) + ", " + std::to_string(to) + "), ";
  if (from < 0 || to < 0) return cel_error(what + "negative indexes not supported");
  if (from > to) return cel_error(what + "start index must be less than or equal to end index");
  if (size < to) return cel_error(what + "list is length " + std::to_string(size));
  if (!budget.spend(static_cast<std::uint64_t>(to - from))) return out_of_budget();
  std::vector<Value> out;
  for (Int i = from; i < to; ++i) out.push_back(a[0].at(static_cast<std::size_t>(i)));
  return Value::list(std::move(out));
}

// Lists within lists are as deep as whoever wrote them wanted, and no deeper than JSON and
// expressions may be.
Result<void> flatten_into(const Value& list, Int depth, std::vector<Value>& out, Budget& budget) {
  if (!budget.spend(list.size())) return out_of_budget();
  for (std::size_t i = 0; i < list.size(); ++i) {
    Value one = list.at(i);
    if (!one.is_list() || depth == 0)
      out.push_back(std::move(one));
    else
      TRY(flatten_into(one, depth - 1, out, budget));
  }
  return {};
}
Result<Value> flattened(const Value& list, Int depth, Budget& budget) {
  if (depth < 0) return cel_error("level must be non-negative");
  std::vector<Value> out;
  TRY(flatten_into(list, depth, out, budget));
  return Value::list(std::move(out));
}
Result<Value> flatten(Arguments a, Budget& budget) { return flattened(a[0], 1, budget); }
Result<Value> flatten_to(Arguments a, Budget& budget) {
  return flattened(a[0], a[1].get<Int>(), budget);
}

Result<Value> sorted(Arguments a, Budget& budget) { return sorted_by(a[0], a[0], budget); }

Result<Value> range_of(Arguments a, Budget& budget) {
  const Int count = std::max<Int>(a[0].get<Int>(), 0);
  if (!budget.spend(static_cast<std::uint64_t>(count))) return out_of_budget();
  std::vector<Value> out;
  for (Int i = 0; i < count; ++i) out.emplace_back(i);
  return Value::list(std::move(out));
}
Result<Value> reverse_list(Arguments a, Budget& budget) {
  if (!budget.spend(a[0].size())) return out_of_budget();
  std::vector<Value> out;
  for (std::size_t i = a[0].size(); i-- > 0;) out.push_back(a[0].at(i));
  return Value::list(std::move(out));
}
Result<Value> distinct(Arguments a, Budget& budget) {
  std::vector<Value> out;
  for (std::size_t i = 0; i < a[0].size(); ++i) {
    if (!budget.spend(out.size() + 1)) return out_of_budget();
    Value one = a[0].at(i);
    if (std::none_of(out.begin(), out.end(), [&](const Value& known) { return equal(known, one); }))
      out.push_back(std::move(one));
  }
  return Value::list(std::move(out));
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
    case Value::Kind::null:
      return true;
    case Value::Kind::boolean:
      return !value.get<bool>();
    case Value::Kind::integer:
      return value.get<Int>() == 0;
    case Value::Kind::uinteger:
      return value.get<std::uint64_t>() == 0;
    case Value::Kind::floating:
      return value.get<double>() == 0;
    case Value::Kind::string:
      return value.view().empty();
    case Value::Kind::list:
    case Value::Kind::json_list:
    case Value::Kind::map:
    case Value::Kind::json_map:
      return value.size() == 0;
    default:
      return false;
  }
}
Result<Value> optional_non_zero(Arguments a, Budget&) {
  return is_zero(a[0]) ? Value::none() : Value::some(a[0]);
}
Result<Value> optional_has(Arguments a, Budget&) {
  return Value(a[0].get<Optional>().value != nullptr);
}
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

Result<Value> first_of(Arguments a, Budget&) {
  return a[0].size() == 0 ? Value::none() : Value::some(a[0].at(0));
}
Result<Value> last_of(Arguments a, Budget&) {
  return a[0].size() == 0 ? Value::none() : Value::some(a[0].at(a[0].size() - 1));
}
Result<Value> unwrap(Arguments a, Budget& budget) {
  if (!budget.spend(a[0].size())) return out_of_budget();
  std::vector<Value> out;
  for (std::size_t i = 0; i < a[0].size(); ++i) {
    const Value one = a[0].at(i);
    if (one.kind() != Value::Kind::optional)
      return cel_error("value at index " + std::to_string(i) + " is not optional");
    if (one.get<Optional>().value) out.push_back(*one.get<Optional>().value);
  }
  return Value::list(std::move(out));
}

// For lists of what has an order; `to` is the result: "bool", or the element's type again.
#define HEKLA_CEL_ORDERED(name, function, to)                       \
  {name, true, "(list<int>) " to("int"), function},                 \
      {name, true, "(list<uint>) " to("uint"), function},           \
      {name, true, "(list<double>) " to("double"), function},       \
      {name, true, "(list<bool>) " to("bool"), function},           \
      {name, true, "(list<duration>) " to("duration"), function},   \
      {name, true, "(list<timestamp>) " to("timestamp"), function}, \
      {name, true, "(list<string>) " to("string"), function}, {     \
    name, true, "(list<bytes>) " to("bytes"), function              \
  }
#define HEKLA_CEL_TO_BOOL(type) "bool"
#define HEKLA_CEL_TO_ONE(type) type
#define HEKLA_CEL_TO_LIST(type) "list<" type ">"

constexpr FunctionEntry kLists[] = {
    {"size", false, "(list<A>) int", count_of},
    {"size", true, "(list<A>) int", count_of},
    {"size", false, "(map<A,B>) int", count_of},
    {"size", true, "(map<A,B>) int", count_of},
    HEKLA_CEL_ORDERED("isSorted", is_sorted, HEKLA_CEL_TO_BOOL),
    {"sum", true, "(list<int>) int", sum_of<Int>},
    {"sum", true, "(list<uint>) uint", sum_of<std::uint64_t>},
    {"sum", true, "(list<double>) double", sum_of<double>},
    {"sum", true, "(list<duration>) duration", sum_of_durations},
    HEKLA_CEL_ORDERED("min", smallest, HEKLA_CEL_TO_ONE),
    HEKLA_CEL_ORDERED("max", greatest, HEKLA_CEL_TO_ONE),
    {"indexOf", true, "(list<A>,A) int", first_index},
    {"lastIndexOf", true, "(list<A>,A) int", last_index},
    {"slice", true, "(list<A>,int,int) list<A>", slice_of},
    {"flatten", true, "(list<list<A>>) list<A>", flatten},
    {"flatten", true, "(list<dyn>,int) list<dyn>", flatten_to},
    HEKLA_CEL_ORDERED("sort", sorted, HEKLA_CEL_TO_LIST),
    {"lists.range", false, "(int) list<int>", range_of},
    {"reverse", true, "(list<A>) list<A>", reverse_list},
    {"distinct", true, "(list<A>) list<A>", distinct},
    {"first", true, "(list<A>) optional<A>", first_of},
    {"last", true, "(list<A>) optional<A>", last_of},
    {"optional.unwrap", false, "(list<optional<A>>) list<A>", unwrap},
    {"unwrapOpt", true, "(list<optional<A>>) list<A>", unwrap},
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
#undef HEKLA_CEL_ORDERED
#undef HEKLA_CEL_TO_BOOL
#undef HEKLA_CEL_TO_ONE
#undef HEKLA_CEL_TO_LIST

}  // namespace

Result<Value> sorted_by(const Value& list, const Value& keys, Budget& budget) {
  const std::size_t size = list.size();
  std::uint64_t rounds = 1;
  while ((std::size_t{1} << rounds) < size) ++rounds;
  if (!budget.spend(size * rounds)) return out_of_budget();
  std::vector<std::pair<Value, std::size_t>> order;
  for (std::size_t i = 0; i < size; ++i) {
    order.emplace_back(keys.at(i), i);
    if (!compare(order[i].first, order[i].first))
      return cel_error("list elements must be comparable");
    if (order[i].first.kind() != order[0].first.kind())
      return cel_error("list elements must have the same type");
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& x, const auto& y) {
    return compare(x.first, y.first).value_or(0) < 0;
  });
  std::vector<Value> out;
  for (const auto& [key, index] : order) out.push_back(list.at(index));
  return Value::list(std::move(out));
}

std::span<const FunctionEntry> list_functions() { return kLists; }

}  // namespace hekla::cel
