// Arithmetic, relations, membership and conversions.
#include <charconv>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "cel/functions.h"
#include "json/yaml_scalar.h"
#include "model/time.h"

namespace hekla::cel {
namespace {

using Int = std::int64_t;
using Uint = std::uint64_t;

std::unexpected<Error> int_overflow() { return cel_error("integer overflow"); }
std::unexpected<Error> uint_overflow() { return cel_error("unsigned integer overflow"); }

enum class Arithmetic { add, subtract, multiply, divide, modulo };

template <class Number>
Result<Value> whole(Arithmetic op, Number a, Number b) {
  constexpr bool is_signed = std::is_signed_v<Number>;
  Number out{};
  bool overflow = false;
  switch (op) {
    case Arithmetic::add:
      overflow = __builtin_add_overflow(a, b, &out);
      break;
    case Arithmetic::subtract:
      overflow = __builtin_sub_overflow(a, b, &out);
      break;
    case Arithmetic::multiply:
      overflow = __builtin_mul_overflow(a, b, &out);
      break;
    case Arithmetic::divide:
    case Arithmetic::modulo:
      if (b == 0)
        return cel_error(op == Arithmetic::divide ? "division by zero" : "modulus by zero");
      if constexpr (is_signed)
        if (b == -1 && a == std::numeric_limits<Number>::min()) return int_overflow();
      out = op == Arithmetic::divide ? a / b : a % b;
  }
  if (overflow) {
    if constexpr (is_signed) return int_overflow();
    return uint_overflow();
  }
  return Value(out);
}

template <Arithmetic op>
Result<Value> int_arithmetic(Arguments a, Budget&) {
  return whole(op, a[0].get<Int>(), a[1].get<Int>());
}
template <Arithmetic op>
Result<Value> uint_arithmetic(Arguments a, Budget&) {
  return whole(op, a[0].get<Uint>(), a[1].get<Uint>());
}
template <Arithmetic op>
Result<Value> double_arithmetic(Arguments a, Budget&) {
  const double x = a[0].get<double>(), y = a[1].get<double>();
  switch (op) {
    case Arithmetic::add:
      return Value(x + y);
    case Arithmetic::subtract:
      return Value(x - y);
    case Arithmetic::multiply:
      return Value(x * y);
    default:
      return Value(x / y);
  }
}

Result<Value> add_strings(Arguments a, Budget& budget) {
  if (!budget.spend((a[0].view().size() + a[1].view().size()) / 10)) return out_of_budget();
  return Value::text(std::string(a[0].view()) + std::string(a[1].view()));
}
Result<Value> add_bytes(Arguments a, Budget& budget) {
  const std::string_view x = a[0].get<Bytes>().text.view(), y = a[1].get<Bytes>().text.view();
  if (!budget.spend((x.size() + y.size()) / 10)) return out_of_budget();
  return Value(Bytes{Text::owned(std::string(x) + std::string(y))});
}
Result<Value> add_lists(Arguments a, Budget& budget) {
  if (!budget.spend(a[0].size() + a[1].size())) return out_of_budget();
  std::vector<Value> out;
  for (const Value& list : a)
    for (std::size_t i = 0; i < list.size(); ++i) out.push_back(list.at(i));
  return Value::list(std::move(out));
}
Result<Value> add_durations(Arguments a, Budget&) {
  Int out = 0;
  if (__builtin_add_overflow(a[0].get<Duration>().nanos.count(), a[1].get<Duration>().nanos.count(),
                             &out))
    return cel_error("duration overflow");
  return Value(Duration{Nanos(out)});
}
Result<Value> subtract_durations(Arguments a, Budget&) {
  Int out = 0;
  if (__builtin_sub_overflow(a[0].get<Duration>().nanos.count(), a[1].get<Duration>().nanos.count(),
                             &out))
    return cel_error("duration overflow");
  return Value(Duration{Nanos(out)});
}
Result<Value> moved_time(WallTime at, Int nanos) {
  Int out = 0;
  if (__builtin_add_overflow(at.time_since_epoch().count(), nanos, &out))
    return cel_error("timestamp overflow");
  return Value(Timestamp{WallTime(Nanos(out))});
}
Result<Value> time_plus_duration(Arguments a, Budget&) {
  return moved_time(a[0].get<Timestamp>().at, a[1].get<Duration>().nanos.count());
}
Result<Value> duration_plus_time(Arguments a, Budget&) {
  return moved_time(a[1].get<Timestamp>().at, a[0].get<Duration>().nanos.count());
}
Result<Value> time_minus_duration(Arguments a, Budget&) {
  const Int nanos = a[1].get<Duration>().nanos.count();
  if (nanos == std::numeric_limits<Int>::min()) return cel_error("timestamp overflow");
  return moved_time(a[0].get<Timestamp>().at, -nanos);
}
Result<Value> time_minus_time(Arguments a, Budget&) {
  Int out = 0;
  if (__builtin_sub_overflow(a[0].get<Timestamp>().at.time_since_epoch().count(),
                             a[1].get<Timestamp>().at.time_since_epoch().count(), &out))
    return cel_error("timestamp overflow");
  return Value(Duration{Nanos(out)});
}

Result<Value> negate_int(Arguments a, Budget&) {
  if (a[0].get<Int>() == std::numeric_limits<Int>::min()) return int_overflow();
  return Value(-a[0].get<Int>());
}
Result<Value> negate_double(Arguments a, Budget&) { return Value(-a[0].get<double>()); }
Result<Value> negate_bool(Arguments a, Budget&) { return Value(!a[0].get<bool>()); }

// What looking at the whole value costs.
std::uint64_t weight(const Value& value) {
  if (value.kind() == Value::Kind::string) return value.view().size() / 10;
  if (!value.is_list() && !value.is_map()) return 0;
  std::uint64_t sum = value.size();
  for (std::size_t i = 0; i < value.size(); ++i)
    sum += weight(value.is_list() ? value.at(i) : value.entry(i).second);
  return sum;
}

Result<Value> equals(Arguments a, Budget& budget) {
  if (!budget.spend(std::min(weight(a[0]), weight(a[1])))) return out_of_budget();
  return Value(equal(a[0], a[1]));
}
Result<Value> differs(Arguments a, Budget& budget) {
  if (!budget.spend(std::min(weight(a[0]), weight(a[1])))) return out_of_budget();
  return Value(!equal(a[0], a[1]));
}

enum class Relation { less, less_equal, greater, greater_equal };
template <Relation relation>
Result<Value> relate(Arguments a, Budget&) {
  std::optional<int> order = compare(a[0], a[1]);
  const bool numbers = a[0].kind() <= Value::Kind::floating &&
                       a[1].kind() <= Value::Kind::floating &&
                       a[0].kind() >= Value::Kind::integer && a[1].kind() >= Value::Kind::integer;
  if (!order && numbers) return Value(false);  // NaN
  if (!order) return cel_error("no such overload");
  switch (relation) {
    case Relation::less:
      return Value(*order < 0);
    case Relation::less_equal:
      return Value(*order <= 0);
    case Relation::greater:
      return Value(*order > 0);
    default:
      return Value(*order >= 0);
  }
}

Result<Value> in_list(Arguments a, Budget& budget) {
  for (std::size_t i = 0; i < a[1].size(); ++i) {
    if (!budget.spend(1)) return out_of_budget();
    if (equal(a[0], a[1].at(i))) return Value(true);
  }
  return Value(false);
}
Result<Value> in_map(Arguments a, Budget&) { return Value(a[1].find(a[0]).has_value()); }

Result<Value> same(Arguments a, Budget&) { return a[0]; }

Result<Value> int_of_double(Arguments a, Budget&) {
  const double number = a[0].get<double>();
  if (!(number > -0x1p63 && number < 0x1p63)) return int_overflow();
  return Value(static_cast<Int>(number));
}
Result<Value> int_of_uint(Arguments a, Budget&) {
  if (!std::in_range<Int>(a[0].get<Uint>())) return int_overflow();
  return Value(static_cast<Int>(a[0].get<Uint>()));
}
template <class Number>
Result<Value> number_of_text(Arguments a, Budget&) {
  std::string_view text = a[0].view();
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty())
    return cel_error("type conversion error from 'string' to '" +
                     std::string(Value(number).type_name()) + "'");
  return Value(number);
}
Result<Value> int_of_time(Arguments a, Budget&) {
  return Value(Int{std::chrono::floor<std::chrono::seconds>(a[0].get<Timestamp>().at)
                       .time_since_epoch()
                       .count()});
}
Result<Value> int_of_duration(Arguments a, Budget&) {
  return Value(Int{a[0].get<Duration>().nanos.count()});
}
Result<Value> uint_of_int(Arguments a, Budget&) {
  if (a[0].get<Int>() < 0) return uint_overflow();
  return Value(static_cast<Uint>(a[0].get<Int>()));
}
Result<Value> uint_of_double(Arguments a, Budget&) {
  const double number = a[0].get<double>();
  if (!(number > -1 && number < 0x1p64)) return uint_overflow();
  return Value(static_cast<Uint>(number));
}
Result<Value> double_of_int(Arguments a, Budget&) {
  return Value(static_cast<double>(a[0].get<Int>()));
}
Result<Value> double_of_uint(Arguments a, Budget&) {
  return Value(static_cast<double>(a[0].get<Uint>()));
}

Result<Value> string_of(Arguments a, Budget&) { return Value::text(TRY(text_of_value(a[0]))); }
Result<Value> bytes_of_text(Arguments a, Budget&) { return Value(Bytes{a[0].get<Text>()}); }
Result<Value> bool_of_text(Arguments a, Budget&) {
  const std::string_view text = a[0].view();
  for (std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return Value(true);
  for (std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return Value(false);
  return cel_error("type conversion error from 'string' to 'bool'");
}
Result<Value> time_of_text(Arguments a, Budget&) {
  Result<WallTime> at = model::parse_rfc3339(a[0].view());
  if (!at) return cel_error("type conversion error from 'string' to 'google.protobuf.Timestamp'");
  return Value(Timestamp{*at});
}
Result<Value> time_of_int(Arguments a, Budget&) {
  const Int seconds = a[0].get<Int>();
  if (seconds > 9'000'000'000 || seconds < -9'000'000'000) return cel_error("timestamp overflow");
  return Value(Timestamp{WallTime(std::chrono::seconds(seconds))});
}
Result<Value> duration_of_text(Arguments a, Budget&) {
  Result<Nanos> nanos = model::parse_go_duration(a[0].view());
  if (!nanos) return cel_error("type conversion error from 'string' to 'google.protobuf.Duration'");
  return Value(Duration{*nanos});
}
Result<Value> type_of(Arguments a, Budget&) {
  return Value(TypeName{std::string(a[0].type_name())});
}

constexpr FunctionEntry kOperators[] = {
    {"_+_", false, "(int,int) int", int_arithmetic<Arithmetic::add>},
    {"_+_", false, "(uint,uint) uint", uint_arithmetic<Arithmetic::add>},
    {"_+_", false, "(double,double) double", double_arithmetic<Arithmetic::add>},
    {"_+_", false, "(string,string) string", add_strings},
    {"_+_", false, "(bytes,bytes) bytes", add_bytes},
    {"_+_", false, "(list<A>,list<A>) list<A>", add_lists},
    {"_+_", false, "(duration,duration) duration", add_durations},
    {"_+_", false, "(timestamp,duration) timestamp", time_plus_duration},
    {"_+_", false, "(duration,timestamp) timestamp", duration_plus_time},
    {"_-_", false, "(int,int) int", int_arithmetic<Arithmetic::subtract>},
    {"_-_", false, "(uint,uint) uint", uint_arithmetic<Arithmetic::subtract>},
    {"_-_", false, "(double,double) double", double_arithmetic<Arithmetic::subtract>},
    {"_-_", false, "(duration,duration) duration", subtract_durations},
    {"_-_", false, "(timestamp,timestamp) duration", time_minus_time},
    {"_-_", false, "(timestamp,duration) timestamp", time_minus_duration},
    {"_*_", false, "(int,int) int", int_arithmetic<Arithmetic::multiply>},
    {"_*_", false, "(uint,uint) uint", uint_arithmetic<Arithmetic::multiply>},
    {"_*_", false, "(double,double) double", double_arithmetic<Arithmetic::multiply>},
    {"_/_", false, "(int,int) int", int_arithmetic<Arithmetic::divide>},
    {"_/_", false, "(uint,uint) uint", uint_arithmetic<Arithmetic::divide>},
    {"_/_", false, "(double,double) double", double_arithmetic<Arithmetic::divide>},
    {"_%_", false, "(int,int) int", int_arithmetic<Arithmetic::modulo>},
    {"_%_", false, "(uint,uint) uint", uint_arithmetic<Arithmetic::modulo>},
    {"-_", false, "(int) int", negate_int},
    {"-_", false, "(double) double", negate_double},
    {"!_", false, "(bool) bool", negate_bool},
    {"_==_", false, "(A,A) bool", equals},
    {"_!=_", false, "(A,A) bool", differs},
#define HEKLA_CEL_RELATION(sign, relation)                           \
  {sign, false, "(bool,bool) bool", relate<relation>},               \
      {sign, false, "(int,int) bool", relate<relation>},             \
      {sign, false, "(int,uint) bool", relate<relation>},            \
      {sign, false, "(int,double) bool", relate<relation>},          \
      {sign, false, "(uint,uint) bool", relate<relation>},           \
      {sign, false, "(uint,int) bool", relate<relation>},            \
      {sign, false, "(uint,double) bool", relate<relation>},         \
      {sign, false, "(double,double) bool", relate<relation>},       \
      {sign, false, "(double,int) bool", relate<relation>},          \
      {sign, false, "(double,uint) bool", relate<relation>},         \
      {sign, false, "(string,string) bool", relate<relation>},       \
      {sign, false, "(bytes,bytes) bool", relate<relation>},         \
      {sign, false, "(duration,duration) bool", relate<relation>}, { \
    sign, false, "(timestamp,timestamp) bool", relate<relation>      \
  }
    HEKLA_CEL_RELATION("_<_", Relation::less),
    HEKLA_CEL_RELATION("_<=_", Relation::less_equal),
    HEKLA_CEL_RELATION("_>_", Relation::greater),
    HEKLA_CEL_RELATION("_>=_", Relation::greater_equal),
#undef HEKLA_CEL_RELATION
    {"@in", false, "(A,list<A>) bool", in_list},
    {"@in", false, "(A,map<A,B>) bool", in_map},
};

constexpr FunctionEntry kConversions[] = {
    {"int", false, "(int) int", same},
    {"int", false, "(uint) int", int_of_uint},
    {"int", false, "(double) int", int_of_double},
    {"int", false, "(string) int", number_of_text<Int>},
    {"int", false, "(timestamp) int", int_of_time},
    {"int", false, "(duration) int", int_of_duration},
    {"uint", false, "(uint) uint", same},
    {"uint", false, "(int) uint", uint_of_int},
    {"uint", false, "(double) uint", uint_of_double},
    {"uint", false, "(string) uint", number_of_text<Uint>},
    {"double", false, "(double) double", same},
    {"double", false, "(int) double", double_of_int},
    {"double", false, "(uint) double", double_of_uint},
    {"double", false, "(string) double", number_of_text<double>},
    {"string", false, "(string) string", same},
    {"string", false, "(bool) string", string_of},
    {"string", false, "(int) string", string_of},
    {"string", false, "(uint) string", string_of},
    {"string", false, "(double) string", string_of},
    {"string", false, "(bytes) string", string_of},
    {"string", false, "(timestamp) string", string_of},
    {"string", false, "(duration) string", string_of},
    {"string", false, "(ip) string", string_of},
    {"string", false, "(cidr) string", string_of},
    {"bytes", false, "(bytes) bytes", same},
    {"bytes", false, "(string) bytes", bytes_of_text},
    {"bool", false, "(bool) bool", same},
    {"bool", false, "(string) bool", bool_of_text},
    {"timestamp", false, "(timestamp) timestamp", same},
    {"timestamp", false, "(string) timestamp", time_of_text},
    {"timestamp", false, "(int) timestamp", time_of_int},
    {"duration", false, "(duration) duration", same},
    {"duration", false, "(string) duration", duration_of_text},
    {"dyn", false, "(A) dyn", same},
    {"type", false, "(A) type<A>", type_of},
};

// The shortest digits that mean the number, with an exponent below 1e-4 and from 1e6 on: Go's %g.
std::string shortest(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Inf" : "+Inf";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
  const std::string text(buffer, end);
  const int exponent = std::stoi(text.substr(text.find('e') + 1));
  if (exponent < -4 || exponent >= 6) return text;
  return {buffer,
          std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr};
}

// Seconds with their fraction, as protobuf prints durations.
std::string seconds_text(Nanos nanos) {
  const Int count = nanos.count();
  const Uint size = count < 0 ? 0 - static_cast<Uint>(count) : static_cast<Uint>(count);
  std::string fraction = std::to_string(size % 1'000'000'000);
  fraction.insert(0, 9 - fraction.size(), '0');
  while (fraction.ends_with('0')) fraction.pop_back();
  return (count < 0 ? "-" : "") + std::to_string(size / 1'000'000'000) +
         (fraction.empty() ? "" : "." + fraction) + "s";
}

}  // namespace

Result<std::string> text_of_value(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::string:
      return std::string(value.view());
    case Value::Kind::boolean:
      return value.get<bool>() ? "true" : "false";
    case Value::Kind::integer:
      return std::to_string(value.get<Int>());
    case Value::Kind::uinteger:
      return std::to_string(value.get<Uint>());
    case Value::Kind::floating:
      return shortest(value.get<double>());
    case Value::Kind::bytes: {
      const std::string_view bytes = value.get<Bytes>().text.view();
      if (json::valid_utf8(bytes) != bytes)
        return cel_error("invalid UTF-8 in bytes, cannot convert to string");
      return std::string(bytes);
    }
    case Value::Kind::timestamp:
      return model::format_rfc3339_nano(value.get<Timestamp>().at);
    case Value::Kind::duration:
      return seconds_text(value.get<Duration>().nanos);
    case Value::Kind::ip:
      return value.get<Ip>().text();
    case Value::Kind::cidr:
      return value.get<Cidr>().ip.text() + "/" + std::to_string(value.get<Cidr>().prefix);
    case Value::Kind::quantity:
      return value.get<model::Quantity>().text();
    default:
      return cel_error("no such overload");
  }
}

std::span<const FunctionEntry> operator_functions() { return kOperators; }
std::span<const FunctionEntry> conversion_functions() { return kConversions; }

}  // namespace hekla::cel
