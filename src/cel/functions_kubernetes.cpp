// Quantities, URLs and the named formats.
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

Result<Value> is_quantity(Arguments a, Budget&) { return Value(Quantity::parse(a[0].view()).has_value()); }
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
Result<Value> quantity_is_integer(Arguments a, Budget&) { return Value(fits_int(a[0].get<Quantity>())); }
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
Result<Value> quantity_greater(Arguments a, Budget&) { return Value(a[0].get<Quantity>() > a[1].get<Quantity>()); }
Result<Value> quantity_less(Arguments a, Budget&) { return Value(a[0].get<Quantity>() < a[1].get<Quantity>()); }
Result<Value> quantity_compare(Arguments a, Budget&) {
  const auto &x = a[0].get<Quantity>(), &y = a[1].get<Quantity>();
  return Value(Int{x < y ? -1 : x > y ? 1 : 0});
}

// scheme://host/path?query, or an absolute path. Fragments do not belong to a request.
std::optional<Url> split_url(std::string_view text) {
  Url out;
  if (text.empty()) return std::nullopt;
  if (text.find_first_of(" \t\n") != std::string_view::npos) return std::nullopt;
  if (text.front() != '/') {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0) return std::nullopt;
    out.scheme = text.substr(0, colon);
    if (!std::all_of(out.scheme.begin(), out.scheme.end(), [](unsigned char c) {
          return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
        }))
      return std::nullopt;
    text.remove_prefix(colon + 1);
    if (text.starts_with("//")) {
      text.remove_prefix(2);
      const std::size_t end = std::min(text.find_first_of("/?"), text.size());
      out.host = text.substr(0, end);
      text.remove_prefix(end);
      if (const std::size_t at = out.host.rfind('@'); at != std::string::npos) out.host.erase(0, at + 1);
    } else if (!text.starts_with('/')) {
      return std::nullopt;
    }
  }
  const std::size_t question = text.find('?');
  out.path = text.substr(0, question);
  if (question != std::string_view::npos) out.query = text.substr(question + 1);
  return out;
}
Result<Value> is_url(Arguments a, Budget&) { return Value(split_url(a[0].view()).has_value()); }
Result<Value> url_of(Arguments a, Budget&) {
  std::optional<Url> url = split_url(a[0].view());
  if (!url) return cel_error("URL parse error during conversion from string: invalid URI for request");
  return Value(std::move(*url));
}
Result<Value> url_scheme(Arguments a, Budget&) { return Value::text(a[0].get<Url>().scheme); }
Result<Value> url_host(Arguments a, Budget&) { return Value::text(a[0].get<Url>().host); }
// The port's colon: behind the bracket of an IPv6 address.
std::size_t port_colon(const std::string& host) {
  const std::size_t bracket = host.rfind(']'), colon = host.rfind(':');
  if (colon == std::string::npos || (bracket != std::string::npos && colon < bracket)) return host.size();
  return colon;
}
Result<Value> url_hostname(Arguments a, Budget&) {
  const std::string& host = a[0].get<Url>().host;
  std::string name = host.substr(0, port_colon(host));
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return Value::text(std::move(name));
}
Result<Value> url_port(Arguments a, Budget&) {
  const std::string& host = a[0].get<Url>().host;
  const std::size_t colon = port_colon(host);
  return Value::text(colon >= host.size() ? "" : host.substr(colon + 1));
}
Result<Value> url_path(Arguments a, Budget&) { return Value::text(a[0].get<Url>().path); }

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
        std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}
Result<Value> url_query(Arguments a, Budget& budget) {
  std::vector<std::pair<std::string, std::vector<Value>>> found;
  std::string_view rest = a[0].get<Url>().query;
  if (!budget.spend(rest.size())) return out_of_budget();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    std::string key = percent_decoded(pair.substr(0, equals));
    Value value = Value::text(percent_decoded(pair.substr(std::min(equals + 1, pair.size()))));
    auto known = std::find_if(found.begin(), found.end(), [&](const auto& one) { return one.first == key; });
    if (known == found.end()) known = found.insert(found.end(), {std::move(key), {}});
    known->second.push_back(std::move(value));
  }
  std::vector<std::pair<Value, Value>> entries;
  for (auto& [key, values] : found)
    entries.emplace_back(Value::text(std::move(key)), Value::list(std::move(values)));
  return Value::map(std::move(entries));
}

constexpr std::array<std::string_view, 10> kFormats{
    "dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "labelValue", "uri",
    "uuid",         "byte",             "date",         "datetime"};

Result<Value> format_named(Arguments a, Budget&) {
  if (std::find(kFormats.begin(), kFormats.end(), a[0].view()) == kFormats.end()) return Value::none();
  return Value::some(Value(NameFormat{std::string(a[0].view())}));
}
template <std::size_t index>
Result<Value> format_constant(Arguments, Budget&) {
  return Value(NameFormat{std::string(kFormats[index])});
}
std::vector<std::string> format_errors(const std::string& name, std::string_view text) {
  if (name == "dns1123Label") return model::dns1123_label_errors(text);
  if (name == "dns1123Subdomain") return model::dns1123_subdomain_errors(text);
  if (name == "dns1035Label") return model::dns1035_label_errors(text);
  if (name == "qualifiedName") return model::qualified_name_errors(text);
  if (name == "labelValue") return model::label_value_errors(text);
  if (model::satisfies_format(name == "datetime" ? "date-time" : name, text)) return {};
  return {name == "uri"    ? "invalid URL escape"
          : name == "uuid" ? "does not match the UUID format"
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
    {"sign", true, "(quantity) int", quantity_sign},
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
    {"isURL", false, "(string) bool", is_url},
    {"url", false, "(string) url", url_of},
    {"getScheme", true, "(url) string", url_scheme},
    {"getHost", true, "(url) string", url_host},
    {"getHostname", true, "(url) string", url_hostname},
    {"getPort", true, "(url) string", url_port},
    {"getEscapedPath", true, "(url) string", url_path},
    {"getQuery", true, "(url) map<string,list<string>>", url_query},
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
    {"validate", true, "(format,string) optional<list<string>>", format_validate},
};

}  // namespace

std::span<const FunctionEntry> kubernetes_functions() { return kKubernetes; }

}  // namespace hekla::cel
