// Zero values that Go's encoder writes although nobody set them.
#include "apiserver/schema/schema.h"

namespace hekla::apiserver {
using Type = Schema::Type;

json::Value zero_value(const Schema& schema) {
  if (schema.pointer) return nullptr;
  if (!schema.go_type.empty()) {
    json::Value made = json::Object();
    fill_zeros(schema, made);
    return made;
  }
  if (schema.format == "date-time" || schema.format == "micro-time") return nullptr;
  if (schema.format == "quantity") return json::Value("0");
  if (schema.format == "go-duration") return json::Value("0s");
  switch (schema.type) {
    case Type::string:
      return schema.format == "byte" ? json::Value() : json::Value("");
    case Type::integer:
    case Type::number:
    case Type::int_or_string:
      return 0;
    case Type::boolean:
      return false;
    default:
      return nullptr;  // lists, maps, free JSON
  }
}

void fill_zeros(const Schema& schema, json::Value& value) {
  if (value.is_array() && schema.items != nullptr) {
    for (json::Value& item : value.get_array()) fill_zeros(*schema.items, item);
    return;
  }
  if (!value.is_object() || schema.preserve_unknown) return;
  json::Object& object = value.get_object();
  for (auto& member : object) {
    if (!member.value().is_structured()) continue;
    auto found = schema.properties.find(member.key());
    if (found != schema.properties.end())
      fill_zeros(*found->second, member.value());
    else if (schema.additional != nullptr)
      fill_zeros(*schema.additional, member.value());
  }
  for (const std::string& name : schema.always_members)
    if (!object.contains(name))
      object.emplace(name, zero_value(*schema.properties.find(name)->second));
}

}  // namespace hekla::apiserver
