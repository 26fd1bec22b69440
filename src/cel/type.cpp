#include "cel/type.h"

#include <array>

#include "base/check.h"

namespace hekla::cel {
namespace {

using Kind = Type::Kind;

constexpr std::array<std::string_view, 27> kTypeNames{"dyn",
                                                      "null_type",
                                                      "bool",
                                                      "int",
                                                      "uint",
                                                      "double",
                                                      "string",
                                                      "bytes",
                                                      "google.protobuf.Duration",
                                                      "google.protobuf.Timestamp",
                                                      "list",
                                                      "map",
                                                      "object",
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
                                                      "kubernetes.authorization.Decision",
                                                      ""};
constexpr std::array<std::pair<std::string_view, Kind>, 13> kShortNames{
    {{"duration", Kind::duration},
     {"timestamp", Kind::timestamp},
     {"quantity", Kind::quantity},
     {"ip", Kind::ip},
     {"cidr", Kind::cidr},
     {"url", Kind::url},
     {"format", Kind::format},
     {"semver", Kind::semver},
     {"authorizer", Kind::authorizer},
     {"path_check", Kind::path_check},
     {"group_check", Kind::group_check},
     {"resource_check", Kind::resource_check},
     {"decision", Kind::decision}}};

std::shared_ptr<const Type> shared(Type type) {
  return std::make_shared<const Type>(std::move(type));
}
const Type& element_of(const std::shared_ptr<const Type>& type) {
  static const Type kDyn;
  return type ? *type : kDyn;
}

Type parse_at(std::string_view text, std::size_t& at) {
  const std::size_t start = at;
  while (at < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_'))
    ++at;
  std::string_view name = text.substr(start, at - start);
  Type out;
  if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') {
    out.kind = Kind::parameter;
    out.parameter = name[0];
    return out;
  }
  bool known = false;
  for (std::size_t i = 0; i + 1 < kTypeNames.size(); ++i)
    if (kTypeNames[i] == name) out.kind = static_cast<Kind>(i), known = true;
  for (const auto& [shorter, kind] : kShortNames)
    if (shorter == name) out.kind = kind, known = true;
  if (name == "optional") out.kind = Kind::optional, known = true;
  CHECK(known, "unknown CEL type");
  if (at < text.size() && text[at] == '<') {
    ++at;
    Type first = parse_at(text, at);
    if (out.kind == Kind::map) {
      CHECK(text[at] == ',', "a map has two types");
      ++at;
      out.key = shared(std::move(first));
      out.element = shared(parse_at(text, at));
    } else {
      out.element = shared(std::move(first));
    }
    CHECK(text[at] == '>', "unbalanced CEL type");
    ++at;
  }
  return out;
}

}  // namespace

namespace {

std::string spelt(const Type& type, bool shorter) {
  auto inner = [&](const std::shared_ptr<const Type>& one) {
    return spelt(element_of(one), shorter);
  };
  switch (type.kind) {
    case Kind::list:
      return "list(" + inner(type.element) + ")";
    case Kind::map:
      return "map(" + inner(type.key) + ", " + inner(type.element) + ")";
    case Kind::optional:
      return "optional_type(" + inner(type.element) + ")";
    case Kind::type:
      return "type(" + inner(type.element) + ")";
    case Kind::object:
      return std::string(type.shape->name());
    case Kind::parameter:
      return std::string(1, type.parameter);
    case Kind::null:
      return shorter ? "null" : "null_type";
    case Kind::duration:
      return shorter ? "duration" : "google.protobuf.Duration";
    case Kind::timestamp:
      return shorter ? "timestamp" : "google.protobuf.Timestamp";
    default:
      return std::string(kTypeNames[static_cast<std::size_t>(type.kind)]);
  }
}

}  // namespace

std::string Type::text() const { return spelt(*this, false); }
std::string Type::short_text() const { return spelt(*this, true); }

Type simple_type(Type::Kind kind) {
  Type out;
  out.kind = kind;
  return out;
}
Type list_of(Type element) {
  Type out = simple_type(Kind::list);
  out.element = shared(std::move(element));
  return out;
}
Type map_of(Type key, Type element) {
  Type out = simple_type(Kind::map);
  out.key = shared(std::move(key));
  out.element = shared(std::move(element));
  return out;
}
Type optional_of(Type element) {
  Type out = simple_type(Kind::optional);
  out.element = shared(std::move(element));
  return out;
}

Type parse_type(std::string_view text) {
  std::size_t at = 0;
  Type out = parse_at(text, at);
  CHECK(at == text.size(), "text behind a CEL type");
  return out;
}

bool assignable(const Type& wanted, const Type& given, Bindings& bindings) {
  if (wanted.kind == Kind::parameter) {
    for (auto& [name, bound] : bindings.types) {
      if (name != wanted.parameter) continue;
      if (given.open || (bound.kind == Kind::dyn && !bound.open)) return true;
      if (bound.open || given.kind == Kind::dyn) {
        bound = given;
        return true;
      }
      Bindings none;
      if (assignable(bound, given, none)) return true;
      if (!assignable(given, bound, none)) return false;
      bound = given;
      return true;
    }
    bindings.types.emplace_back(wanted.parameter, given);
    return true;
  }
  if (wanted.kind == Kind::dyn || given.kind == Kind::dyn) return true;
  if (given.kind == Kind::null)
    return wanted.kind == Kind::null || wanted.kind == Kind::object ||
           wanted.kind == Kind::duration || wanted.kind == Kind::timestamp;
  // An object with properties can be read like a map of strings.
  if (wanted.kind == Kind::map && given.kind == Kind::object) return false;
  if (wanted.kind != given.kind) return false;
  if (wanted.kind == Kind::object) return wanted.shape == given.shape;
  if (wanted.kind == Kind::map &&
      !assignable(element_of(wanted.key), element_of(given.key), bindings))
    return false;
  if (wanted.element || given.element)
    return assignable(element_of(wanted.element), element_of(given.element), bindings);
  return true;
}

Type substitute(const Type& type, const Bindings& bindings) {
  if (type.kind == Kind::parameter) {
    for (const auto& [name, bound] : bindings.types)
      if (name == type.parameter) return bound;
    Type open;
    open.open = true;
    return open;
  }
  Type out = type;
  if (type.key) out.key = shared(substitute(*type.key, bindings));
  if (type.element) out.element = shared(substitute(*type.element, bindings));
  return out;
}

bool same_type(const Type& a, const Type& b) {
  if (a.open || b.open) return true;
  if (a.kind != b.kind || a.shape != b.shape) return false;
  if (a.kind == Kind::map && !same_type(element_of(a.key), element_of(b.key))) return false;
  return !(a.element || b.element) || same_type(element_of(a.element), element_of(b.element));
}

Type join(const Type& a, const Type& b) {
  Bindings none;
  if (a.open) return b;
  if (b.open) return a;
  if (a.kind == Kind::dyn || b.kind == Kind::dyn) return {};
  if (assignable(a, b, none)) return a;
  if (assignable(b, a, none)) return b;
  return {};
}

bool holds(const Type& wanted, const Value& value) {
  using V = Value::Kind;
  switch (wanted.kind) {
    case Kind::dyn:
    case Kind::parameter:
      return true;
    case Kind::list:
      return value.is_list();
    case Kind::map:
      return value.is_map();
    case Kind::object:
      return value.is_map();
    case Kind::null:
      return value.kind() == V::null;
    case Kind::boolean:
      return value.kind() == V::boolean;
    case Kind::integer:
      return value.kind() == V::integer;
    case Kind::uinteger:
      return value.kind() == V::uinteger;
    case Kind::floating:
      return value.kind() == V::floating;
    case Kind::string:
      return value.kind() == V::string;
    case Kind::bytes:
      return value.kind() == V::bytes;
    case Kind::duration:
      return value.kind() == V::duration;
    case Kind::timestamp:
      return value.kind() == V::timestamp;
    case Kind::optional:
      return value.kind() == V::optional;
    case Kind::type:
      return value.kind() == V::type;
    case Kind::quantity:
      return value.kind() == V::quantity;
    case Kind::ip:
      return value.kind() == V::ip;
    case Kind::cidr:
      return value.kind() == V::cidr;
    case Kind::url:
      return value.kind() == V::url;
    case Kind::format:
      return value.kind() == V::format;
    case Kind::semver:
      return value.kind() == V::semver;
    case Kind::authorizer:
      return value.kind() == V::authorizer;
    case Kind::path_check:
      return value.kind() == V::path_check;
    case Kind::group_check:
      return value.kind() == V::group_check;
    case Kind::resource_check:
      return value.kind() == V::resource_check;
    case Kind::decision:
      return value.kind() == V::decision;
  }
  return false;
}

}  // namespace hekla::cel
