// Schemas as CEL reads them.
#include "apiserver/schema/schema.h"

namespace hekla::apiserver {

namespace {

cel::Type cel_type_of(const SchemaPtr& schema) { return schema ? schema->cel_type() : cel::Type(); }

}  // namespace

cel::Type Schema::cel_type() const {
  using Kind = cel::Type::Kind;
  if (!go_type.empty()) return {};
  switch (type) {
    case Type::string:
      switch (reading()) {
        case Reading::date_time:
        case Reading::date:
          return cel::simple_type(Kind::timestamp);
        case Reading::duration:
          return cel::simple_type(Kind::duration);
        case Reading::bytes:
          return cel::simple_type(Kind::bytes);
        default:
          return cel::simple_type(Kind::string);
      }
    case Type::integer:
      return cel::simple_type(Kind::integer);
    case Type::number:
      return cel::simple_type(Kind::floating);
    case Type::boolean:
      return cel::simple_type(Kind::boolean);
    case Type::array:
      return cel::list_of(cel_type_of(items));
    case Type::object: {
      if (properties.empty() && additional)
        return cel::map_of(cel::simple_type(Kind::string), cel_type_of(additional));
      if (properties.empty() && preserve_unknown) return {};
      cel::Type out = cel::simple_type(Kind::object);
      out.shape = this;
      return out;
    }
    default:
      return {};
  }
}

cel::Shape::Reading Schema::reading() const {
  if (type == Type::number) return Reading::floating;
  if (type == Type::integer) return Reading::whole;
  if (format.empty() || !enumeration.empty()) return Reading::plain;
  if (format == "date-time") return Reading::date_time;
  if (format == "date") return Reading::date;
  if (format == "duration") return Reading::duration;
  return format == "byte" ? Reading::bytes : Reading::plain;
}

const cel::Shape* Schema::member(std::string_view name) const {
  if (auto found = properties.find(name); found != properties.end())
    return found->second->go_type.empty() ? found->second.get() : nullptr;
  return additional.get();
}

std::optional<cel::Type> Schema::field(std::string_view name) const {
  if (auto found = properties.find(name); found != properties.end())
    return cel_type_of(found->second);
  if (preserve_unknown) return cel::Type();
  return std::nullopt;
}

}  // namespace hekla::apiserver
