#include "cel/value.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/bytes.h"
#include "cel/type.h"
#include "model/time.h"

namespace hekla::cel {
namespace {

constexpr std::array<std::string_view, 21> kReservedNames{
    "true",     "false",   "null",      "in",       "as",  "break",  "const",
    "continue", "else",    "for",       "function", "if",  "import", "let",
    "loop",     "package", "namespace", "return",   "var", "void",   "while"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNameEscapes{
    {{"__underscores__", "__"}, {"__dot__", "."}, {"__dash__", "-"}, {"__slash__", "/"}}};

// Signed difference of two numbers of any kind; nothing with NaN.
std::optional<int> order(std::partial_ordering order) {
  if (order == std::partial_ordering::unordered) return std::nullopt;
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

std::optional<int> compare_whole_to_double(const Value& whole, double other) {
  if (std::isnan(other)) return std::nullopt;
  if (const auto* i = whole.as<std::int64_t>()) {
    if (other >= 0x1p63) return -1;
    if (other < -0x1p63) return 1;
    const auto floor = static_cast<std::int64_t>(std::floor(other));
    if (*i != floor) return *i < floor ? -1 : 1;
    return static_cast<double>(floor) < other ? -1 : 0;
  }
  const std::uint64_t u = whole.get<std::uint64_t>();
  if (other >= 0x1p64) return -1;
  if (other < 0) return 1;
  const auto floor = static_cast<std::uint64_t>(std::floor(other));
  if (u != floor) return u < floor ? -1 : 1;
  return static_cast<double>(floor) < other ? -1 : 0;
}

bool is_number(const Value& value) {
  return value.kind() >= Value::Kind::integer && value.kind() <= Value::Kind::floating;
}

std::optional<int> compare_numbers(const Value& a, const Value& b) {
  const double *x = a.as<double>(), *y = b.as<double>();
  if (x && y) return order(*x <=> *y);
  if (y) return compare_whole_to_double(a, *y);
  if (x) {
    std::optional<int> reversed = compare_whole_to_double(b, *x);
    if (!reversed) return reversed;
    return -*reversed;
  }
  const auto *i = a.as<std::int64_t>(), *j = b.as<std::int64_t>();
  if (i && j) return *i < *j ? -1 : *i > *j;
  const auto *u = a.as<std::uint64_t>(), *v = b.as<std::uint64_t>();
  if (u && v) return *u < *v ? -1 : *u > *v;
  if (i) return std::cmp_less(*i, *v) ? -1 : std::cmp_greater(*i, *v);
  return std::cmp_less(*u, *j) ? -1 : std::cmp_greater(*u, *j);
}

bool equal_maps(const Value& a, const Value& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto [key, value] = a.entry(i);
    std::optional<Value> other = b.find(key);
    if (!other || !equal(value, *other)) return false;
  }
  return true;
}

bool equal_lists(const Value& a, const Value& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!equal(a.at(i), b.at(i))) return false;
  return true;
}

Value text_of(std::string_view text, const Shape* shape) {
  using Reading = Shape::Reading;
  switch (shape ? shape->reading() : Reading::plain) {
    case Reading::date_time:
      if (Result<WallTime> at = model::parse_rfc3339(text)) return Value(Timestamp{*at});
      break;
    case Reading::date:
      if (Result<WallTime> at = model::parse_rfc3339(std::string(text) + "T00:00:00Z"))
        return Value(Timestamp{*at});
      break;
    case Reading::duration:
      if (Result<Nanos> nanos = model::parse_go_duration(text)) return Value(Duration{*nanos});
      break;
    case Reading::bytes:
      if (std::optional<std::string> bytes = base64_decode(text))
        return Value(Bytes{Text::owned(std::move(*bytes))});
      break;
    default:
      break;
  }
  return Value(Text::borrowed(text));
}

Value number_of(const json::Value& value, const Shape* shape) {
  const Shape::Reading reading = shape ? shape->reading() : Shape::Reading::plain;
  if (reading == Shape::Reading::floating) return Value(value.to_number<double>());
  if (value.is_int64()) return Value(value.get_int64());
  if (value.is_uint64()) return Value(static_cast<double>(value.get_uint64()));
  const double number = value.get_double();
  if (reading == Shape::Reading::whole && std::abs(number) < 0x1p63 && number == std::trunc(number))
    return Value(static_cast<std::int64_t>(number));
  return Value(number);
}

}  // namespace

bool reserved_name(std::string_view name) {
  return std::find(kReservedNames.begin(), kReservedNames.end(), name) != kReservedNames.end();
}

std::string escape_name(std::string_view name) {
  if (reserved_name(name)) return "__" + std::string(name) + "__";
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    bool escaped = false;
    for (const auto& [word, sign] : kNameEscapes)
      if (name.substr(i).starts_with(sign)) {
        out += word;
        i += sign.size();
        escaped = true;
        break;
      }
    if (!escaped) out += name[i++];
  }
  return out;
}

bool escapable_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-' || c == '/';
  });
}

std::string unescape_name(std::string_view name) {
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) {
    std::string_view inner = name.substr(2, name.size() - 4);
    if (std::find(kReservedNames.begin(), kReservedNames.end(), inner) != kReservedNames.end())
      return std::string(inner);
  }
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    bool escaped = false;
    for (const auto& [word, sign] : kNameEscapes)
      if (name.substr(i).starts_with(word)) {
        out += sign;
        i += word.size();
        escaped = true;
        break;
      }
    if (!escaped) out += name[i++];
  }
  return out;
}

Value Value::list(std::vector<Value> values) {
  return Value(List{std::make_shared<const std::vector<Value>>(std::move(values))});
}

Value Value::map(std::vector<std::pair<Value, Value>> entries) {
  return Value(
      Map{std::make_shared<const std::vector<std::pair<Value, Value>>>(std::move(entries))});
}
Value Value::map_or(std::vector<std::pair<Value, Value>> entries, Value otherwise) {
  return Value(Map{std::make_shared<const std::vector<std::pair<Value, Value>>>(std::move(entries)),
                   std::make_shared<const Value>(std::move(otherwise))});
}

Value Value::some(Value value) {
  return Value(Optional{std::make_shared<const Value>(std::move(value))});
}

Value Value::of(const json::Value& value, const Shape* shape) {
  switch (value.kind()) {
    case json::Kind::null:
      return Value(Null{});
    case json::Kind::bool_:
      return Value(value.get_bool());
    case json::Kind::string:
      return text_of(json::sv(value.get_string()), shape);
    case json::Kind::array:
      return Value(JsonList{&value.get_array(), shape ? shape->element() : nullptr});
    case json::Kind::object:
      return Value(JsonMap{&value.get_object(), shape});
    default:
      return number_of(value, shape);
  }
}

std::size_t Value::size() const {
  if (const auto* list = as<JsonList>()) return list->array->size();
  if (const auto* list = as<List>()) return list->values->size();
  if (const auto* map = as<JsonMap>()) return map->object->size();
  if (const auto* map = as<Map>()) return map->entries->size();
  return 0;
}

Value Value::at(std::size_t index) const {
  if (const auto* list = as<JsonList>()) return of((*list->array)[index], list->items);
  return (*get<List>().values)[index];
}

namespace {

const Shape* member_shape(const Shape* shape, std::string_view name) {
  return shape ? shape->member(name) : nullptr;
}

}  // namespace

std::optional<Value> Value::find(const Value& key) const {
  if (const auto* map = as<JsonMap>()) {
    if (key.kind() != Kind::string) return std::nullopt;
    const json::Value* found = map->object->if_contains(key.view());
    if (found == nullptr) return std::nullopt;
    return of(*found, member_shape(map->shape, key.view()));
  }
  if (const auto* map = as<Map>())
    for (const auto& [name, value] : *map->entries)
      if (equal(name, key)) return value;
  return std::nullopt;
}

std::optional<Value> Value::find_field(std::string_view name) const {
  const auto* map = as<JsonMap>();
  if (map != nullptr && map->shape != nullptr && map->shape->has_fields())
    return find(Value::text(unescape_name(name)));
  return find(Value(Text::borrowed(name)));
}

std::pair<Value, Value> Value::entry(std::size_t index) const {
  if (const auto* map = as<JsonMap>()) {
    const auto& member = *(map->object->begin() + static_cast<std::ptrdiff_t>(index));
    return {Value(Text::borrowed(member.key())),
            of(member.value(), member_shape(map->shape, member.key()))};
  }
  return (*get<Map>().entries)[index];
}

std::string_view Value::type_name() const {
  static constexpr std::array<std::string_view, 26> kNames{"null_type",
                                                           "bool",
                                                           "int",
                                                           "uint",
                                                           "double",
                                                           "string",
                                                           "bytes",
                                                           "google.protobuf.Duration",
                                                           "google.protobuf.Timestamp",
                                                           "map",
                                                           "list",
                                                           "list",
                                                           "map",
                                                           "optional_type",
                                                           "type",
                                                           "kubernetes.Quantity",
                                                           "net.IP",
                                                           "net.CIDR",
                                                           "kubernetes.URL",
                                                           "kubernetes.NamedFormat",
                                                           "kubernetes.Semver",
                                                           "kubernetes.authorization.Authorizer",
                                                           "kubernetes.authorization.PathCheck",
                                                           "kubernetes.authorization.GroupCheck",
                                                           "kubernetes.authorization.ResourceCheck",
                                                           "kubernetes.authorization.Decision"};
  return kNames[content_.index()];
}

bool equal(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) return compare_numbers(a, b) == 0;
  if (a.is_list() && b.is_list()) return equal_lists(a, b);
  if (a.is_map() && b.is_map()) return equal_maps(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::null:
      return true;
    case Value::Kind::boolean:
      return a.get<bool>() == b.get<bool>();
    case Value::Kind::string:
      return a.view() == b.view();
    case Value::Kind::bytes:
      return a.get<Bytes>().text.view() == b.get<Bytes>().text.view();
    case Value::Kind::duration:
      return a.get<Duration>().nanos == b.get<Duration>().nanos;
    case Value::Kind::timestamp:
      return a.get<Timestamp>().at == b.get<Timestamp>().at;
    case Value::Kind::optional: {
      const auto &x = a.get<Optional>().value, &y = b.get<Optional>().value;
      return x && y ? equal(*x, *y) : !x && !y;
    }
    case Value::Kind::type:
      return a.get<TypeName>().name == b.get<TypeName>().name;
    case Value::Kind::quantity:
      return a.get<model::Quantity>() == b.get<model::Quantity>();
    case Value::Kind::ip:
      return a.get<Ip>().bytes == b.get<Ip>().bytes;
    case Value::Kind::cidr:
      return a.get<Cidr>().ip.bytes == b.get<Cidr>().ip.bytes &&
             a.get<Cidr>().prefix == b.get<Cidr>().prefix;
    case Value::Kind::url: {
      const Url &x = a.get<Url>(), &y = b.get<Url>();
      return x.scheme == y.scheme && x.host == y.host && x.path == y.path && x.query == y.query;
    }
    case Value::Kind::format:
      return a.get<NameFormat>().name == b.get<NameFormat>().name;
    case Value::Kind::semver:
      return compare(a.get<Semver>(), b.get<Semver>()) == 0;
    default:
      return false;
  }
}

std::optional<int> compare(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) return compare_numbers(a, b);
  if (a.kind() != b.kind()) return std::nullopt;
  switch (a.kind()) {
    case Value::Kind::boolean:
      return order(a.get<bool>() <=> b.get<bool>());
    case Value::Kind::string:
      return order(a.view() <=> b.view());
    case Value::Kind::bytes:
      return order(a.get<Bytes>().text.view() <=> b.get<Bytes>().text.view());
    case Value::Kind::duration:
      return order(a.get<Duration>().nanos <=> b.get<Duration>().nanos);
    case Value::Kind::timestamp:
      return order(a.get<Timestamp>().at <=> b.get<Timestamp>().at);
    default:
      return std::nullopt;
  }
}

json::Value to_json(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::boolean:
      return value.get<bool>();
    case Value::Kind::integer:
      return value.get<std::int64_t>();
    case Value::Kind::uinteger:
      return value.get<std::uint64_t>();
    case Value::Kind::floating:
      return value.get<double>();
    case Value::Kind::string:
      return json::Value(value.view());
    case Value::Kind::bytes:
      return json::Value(base64_encode(value.get<Bytes>().text.view()));
    case Value::Kind::duration:
      return json::Value(model::format_go_duration(value.get<Duration>().nanos));
    case Value::Kind::timestamp:
      return json::Value(model::format_rfc3339_nano(value.get<Timestamp>().at));
    case Value::Kind::json_map:
      return json::Value(*value.get<JsonMap>().object);
    case Value::Kind::json_list:
      return json::Value(*value.get<JsonList>().array);
    case Value::Kind::list: {
      json::Array out;
      for (const Value& one : *value.get<List>().values) out.push_back(to_json(one));
      return out;
    }
    case Value::Kind::map: {
      json::Object out;
      for (const auto& [key, one] : *value.get<Map>().entries) {
        json::Value name = to_json(key);
        out[name.is_string() ? std::string(json::sv(name.get_string())) : json::serialize(name)] =
            to_json(one);
      }
      return out;
    }
    case Value::Kind::optional: {
      const auto& inner = value.get<Optional>().value;
      return inner ? to_json(*inner) : json::Value();
    }
    case Value::Kind::quantity:
      return json::Value(value.get<model::Quantity>().text());
    case Value::Kind::ip:
      return json::Value(value.get<Ip>().text());
    case Value::Kind::semver:
      return json::Value(value.get<Semver>().text);
    default:
      return {};
  }
}

}  // namespace hekla::cel
