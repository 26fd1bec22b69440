// Quantities and the named formats.
#include <algorithm>
#include <array>

#include "cel/functions.h"
#include "model/formats.h"
#include "model/names.h"

namespace hekla::cel {
namespace {

using Int = std::int64_t;
using model::Quantity;
constexpr Int kNanosPerUnit = 1'000'000'000;

Result<Value> is_quantity(Arguments a, Budget&) {
  return Value(Quantity::parse(a[0].view()).has_value());
}
Result<Value> quantity_of(Arguments a, Budget&) {
  Result<Quantity> parsed = Quantity::parse(a[0].view());
  if (!parsed) return cel_error(parsed.error().message);
  return Value(*parsed);
}
Result<Value> quantity_sign(Arguments a, Budget&) {
  const Int128 nanos = a[0].get<Quantity>().nanos;
  return Value(Int{nanos > 0 ? 1 : nanos < 0 ? -1 : 0});
}
bool fits_int(const Quantity& quantity) {
  const Int128 units = quantity.nanos / kNanosPerUnit;
  return quantity.nanos % kNanosPerUnit == 0 && units >= INT64_MIN && units <= INT64_MAX;
}
Result<Value> quantity_is_integer(Arguments a, Budget&) {
  return Value(fits_int(a[0].get<Quantity>()));
}
Result<Value> quantity_as_integer(Arguments a, Budget&) {
  if (!fits_int(a[0].get<Quantity>())) return cel_error("cannot convert value to integer");
  return Value(static_cast<Int>(a[0].get<Quantity>().nanos / kNanosPerUnit));
}
Result<Value> quantity_as_float(Arguments a, Budget&) {
  return Value(static_cast<double>(a[0].get<Quantity>().nanos) / 1e9);
}
Quantity operand(const Value& value) {
  return value.as<Quantity>() ? value.get<Quantity>() : Quantity::of(value.get<Int>());
}
Result<Value> quantity_add(Arguments a, Budget&) {
  Quantity sum = a[0].get<Quantity>();
  sum += operand(a[1]);
  return Value(sum);
}
Result<Value> quantity_subtract(Arguments a, Budget&) {
  Quantity rest = a[0].get<Quantity>();
  rest -= operand(a[1]);
  return Value(rest);
}
Result<Value> quantity_greater(Arguments a, Budget&) {
  return Value(a[0].get<Quantity>() > a[1].get<Quantity>());
}
Result<Value> quantity_less(Arguments a, Budget&) {
  return Value(a[0].get<Quantity>() < a[1].get<Quantity>());
}
Result<Value> quantity_compare(Arguments a, Budget&) {
  const auto &x = a[0].get<Quantity>(), &y = a[1].get<Quantity>();
  return Value(Int{x < y ? -1 : x > y ? 1 : 0});
}

constexpr std::array<std::string_view, 13> kFormats{"dns1123Label",
                                                    "dns1123Subdomain",
                                                    "dns1035Label",
                                                    "qualifiedName",
                                                    "labelValue",
                                                    "uri",
                                                    "uuid",
                                                    "byte",
                                                    "date",
                                                    "datetime",
                                                    "dns1123LabelPrefix",
                                                    "dns1123SubdomainPrefix",
                                                    "dns1035LabelPrefix"};

Result<Value> format_named(Arguments a, Budget&) {
  if (std::find(kFormats.begin(), kFormats.end(), a[0].view()) == kFormats.end())
    return Value::none();
  return Value::some(Value(NameFormat{std::string(a[0].view())}));
}
template <std::size_t index>
Result<Value> format_constant(Arguments, Budget&) {
  return Value(NameFormat{std::string(kFormats[index])});
}
std::vector<std::string> format_errors(const std::string& name, std::string_view text) {
  // What a generated name begins with may end in a dash.
  if (name.ends_with("Prefix")) {
    std::string whole(text);
    if (whole.size() > 1 && whole.ends_with('-')) whole.replace(whole.size() - 2, 2, "a");
    return format_errors(name.substr(0, name.size() - 6), whole);
  }
  if (name == "dns1123Label") return model::dns1123_label_errors(text);
  if (name == "dns1123Subdomain") return model::dns1123_subdomain_errors(text);
  if (name == "dns1035Label") return model::dns1035_label_errors(text);
  if (name == "qualifiedName") return model::qualified_name_errors(text);
  if (name == "labelValue") return model::label_value_errors(text);
  if (name == "uri") {
    Result<Url> url = Url::parse(text);
    return url ? std::vector<std::string>{} : std::vector<std::string>{url.error().message};
  }
  if (model::satisfies_format(name == "datetime" ? "date-time" : name, text)) return {};
  return {name == "uuid"   ? "does not match the UUID format"
          : name == "byte" ? "invalid base64"
                           : "invalid " + name};
}
Result<Value> format_validate(Arguments a, Budget& budget) {
  if (!budget.spend(1 + a[1].view().size() / 10)) return out_of_budget();
  std::vector<std::string> errors = format_errors(a[0].get<NameFormat>().name, a[1].view());
  if (errors.empty()) return Value::none();
  std::vector<Value> out;
  for (std::string& one : errors) out.push_back(Value::text(std::move(one)));
  return Value::some(Value::list(std::move(out)));
}

constexpr FunctionEntry kKubernetes[] = {
    {"isQuantity", false, "(string) bool", is_quantity},
    {"quantity", false, "(string) quantity", quantity_of},
    {"sign", false, "(quantity) int", quantity_sign},
    {"isInteger", true, "(quantity) bool", quantity_is_integer},
    {"asInteger", true, "(quantity) int", quantity_as_integer},
    {"asApproximateFloat", true, "(quantity) double", quantity_as_float},
    {"add", true, "(quantity,quantity) quantity", quantity_add},
    {"add", true, "(quantity,int) quantity", quantity_add},
    {"sub", true, "(quantity,quantity) quantity", quantity_subtract},
    {"sub", true, "(quantity,int) quantity", quantity_subtract},
    {"isGreaterThan", true, "(quantity,quantity) bool", quantity_greater},
    {"isLessThan", true, "(quantity,quantity) bool", quantity_less},
    {"compareTo", true, "(quantity,quantity) int", quantity_compare},
    {"format.named", false, "(string) optional<format>", format_named},
    {"format.dns1123Label", false, "() format", format_constant<0>},
    {"format.dns1123Subdomain", false, "() format", format_constant<1>},
    {"format.dns1035Label", false, "() format", format_constant<2>},
    {"format.qualifiedName", false, "() format", format_constant<3>},
    {"format.labelValue", false, "() format", format_constant<4>},
    {"format.uri", false, "() format", format_constant<5>},
    {"format.uuid", false, "() format", format_constant<6>},
    {"format.byte", false, "() format", format_constant<7>},
    {"format.date", false, "() format", format_constant<8>},
    {"format.datetime", false, "() format", format_constant<9>},
    {"format.dns1123LabelPrefix", false, "() format", format_constant<10>},
    {"format.dns1123SubdomainPrefix", false, "() format", format_constant<11>},
    {"format.dns1035LabelPrefix", false, "() format", format_constant<12>},
    {"validate", true, "(format,string) optional<list<string>>", format_validate},
};

}  // namespace

std::span<const FunctionEntry> kubernetes_functions() { return kKubernetes; }

}  // namespace hekla::cel
