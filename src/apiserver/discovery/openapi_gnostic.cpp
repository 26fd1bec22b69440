// A Swagger 2.0 document as gnostic's openapi.v2.Document message. Only what our own documents
// contain is written; field numbers are those of gnostic's OpenAPIv2.proto.
#include <bit>

#include "apiserver/discovery/openapi.h"
#include "apiserver/read/protobuf_wire.h"

namespace hekla::apiserver {
namespace {

using protobuf::put_bytes;
using protobuf::put_double;
using protobuf::put_varint;

std::string_view text_at(const json::Value& from, std::string_view member) {
  return json::string_at(from, {member});
}

void put_text(std::string& out, std::uint32_t number, std::string_view text) {
  if (!text.empty()) put_bytes(out, number, text);
}

void put_flag(std::string& out, std::uint32_t number, const json::Value& from,
              std::string_view member) {
  if (json::bool_at(from, {member})) put_varint(out, number, 1);
}

void put_number(std::string& out, std::uint32_t number, const json::Value& from,
                std::string_view member) {
  const json::Value* value = json::find(from, member);
  if (value != nullptr && value->is_number()) put_double(out, number, value->to_number<double>());
}

void put_count(std::string& out, std::uint32_t number, const json::Value& from,
               std::string_view member) {
  std::int64_t count = json::int_at(from, {member});
  if (count != 0) put_varint(out, number, static_cast<std::uint64_t>(count));
}

void put_texts(std::string& out, std::uint32_t number, const json::Value& from,
               std::string_view member) {
  if (const json::Array* list = json::array_at(from, {member}))
    for (const json::Value& one : *list)
      if (one.is_string()) put_bytes(out, number, json::sv(one.get_string()));
}

// Any: JSON is YAML.
std::string any(const json::Value& value) {
  std::string out;
  put_bytes(out, 2, json::serialize(value));
  return out;
}

// NamedX {1 name, 2 value}.
std::string named(std::string_view name, std::string_view value) {
  std::string out;
  put_bytes(out, 1, name);
  put_bytes(out, 2, value);
  return out;
}

void put_extensions(std::string& out, std::uint32_t number, const json::Value& from) {
  if (!from.is_object()) return;
  for (const auto& member : from.get_object())
    if (std::string_view(member.key()).starts_with("x-"))
      put_bytes(out, number, named(member.key(), any(member.value())));
}

std::string schema(const json::Value& from);

void put_schema_validation(std::string& out, const json::Value& from) {
  put_number(out, 6, from, "multipleOf");
  put_number(out, 7, from, "maximum");
  put_flag(out, 8, from, "exclusiveMaximum");
  put_number(out, 9, from, "minimum");
  put_flag(out, 10, from, "exclusiveMinimum");
  put_count(out, 11, from, "maxLength");
  put_count(out, 12, from, "minLength");
  put_text(out, 13, text_at(from, "pattern"));
  put_count(out, 14, from, "maxItems");
  put_count(out, 15, from, "minItems");
  put_count(out, 17, from, "maxProperties");
  put_count(out, 18, from, "minProperties");
}

std::string schema(const json::Value& from) {
  std::string out;
  put_text(out, 1, text_at(from, "$ref"));
  put_text(out, 2, text_at(from, "format"));
  put_text(out, 4, text_at(from, "description"));
  if (const json::Value* value = json::find(from, "default")) put_bytes(out, 5, any(*value));
  put_schema_validation(out, from);
  put_texts(out, 19, from, "required");
  if (const json::Array* values = json::array_at(from, {"enum"}))
    for (const json::Value& one : *values) put_bytes(out, 20, any(one));
  if (const json::Value* additional = json::find(from, "additionalProperties")) {
    std::string item;
    if (additional->is_bool())
      put_varint(item, 2, additional->get_bool() ? 1 : 0);
    else
      put_bytes(item, 1, schema(*additional));
    put_bytes(out, 21, item);
  }
  if (std::string_view type = text_at(from, "type"); !type.empty()) {
    std::string item;
    put_bytes(item, 1, type);
    put_bytes(out, 22, item);
  }
  if (const json::Value* items = json::find(from, "items")) {
    std::string item;
    put_bytes(item, 1, schema(*items));
    put_bytes(out, 23, item);
  }
  if (const json::Object* properties = json::object_at(from, {"properties"})) {
    std::string all;
    for (const auto& property : *properties)
      put_bytes(all, 1, named(property.key(), schema(property.value())));
    put_bytes(out, 25, all);
  }
  put_extensions(out, 31, from);
  return out;
}

// ParametersItem {1 Parameter {1 body | 2 NonBody {3 query | 4 path}}}.
std::string parameter(const json::Value& from) {
  std::string inner, outer;
  std::string_view in = text_at(from, "in");
  if (in == "body") {
    put_text(inner, 2, text_at(from, "name"));
    put_text(inner, 3, in);
    put_flag(inner, 4, from, "required");
    if (const json::Value* body = json::find(from, "schema")) put_bytes(inner, 5, schema(*body));
    put_bytes(outer, 1, inner);
  } else {
    bool query = in == "query";
    put_flag(inner, 1, from, "required");
    put_text(inner, 2, in);
    put_text(inner, 4, text_at(from, "name"));
    put_text(inner, query ? 6 : 5, text_at(from, "type"));
    put_flag(inner, query ? 20 : 19, from, "uniqueItems");
    std::string non_body;
    put_bytes(non_body, query ? 3 : 4, inner);
    put_bytes(outer, 2, non_body);
  }
  std::string item;
  put_bytes(item, 1, outer);
  return item;
}

void put_parameters(std::string& out, std::uint32_t number, const json::Value& from) {
  if (const json::Array* list = json::array_at(from, {"parameters"}))
    for (const json::Value& one : *list) put_bytes(out, number, parameter(one));
}

std::string operation(const json::Value& from) {
  std::string out;
  put_texts(out, 1, from, "tags");
  put_text(out, 5, text_at(from, "operationId"));
  put_texts(out, 6, from, "produces");
  put_texts(out, 7, from, "consumes");
  put_parameters(out, 8, from);
  std::string responses;
  if (const json::Object* all = json::object_at(from, {"responses"}))
    for (const auto& one : *all) {
      std::string response, value;
      put_text(response, 1, text_at(one.value(), "description"));
      if (const json::Value* body = json::find(one.value(), "schema")) {
        std::string item;
        put_bytes(item, 1, schema(*body));
        put_bytes(response, 2, item);
      }
      put_bytes(value, 1, response);
      put_bytes(responses, 1, named(one.key(), value));
    }
  put_bytes(out, 9, responses);
  put_texts(out, 10, from, "schemes");
  put_extensions(out, 13, from);
  return out;
}

std::string path_item(const json::Value& from) {
  static constexpr std::pair<std::string_view, std::uint32_t> kMethods[] = {
      {"get", 2}, {"put", 3}, {"post", 4}, {"delete", 5}, {"patch", 8}};
  std::string out;
  for (const auto& [method, number] : kMethods)
    if (const json::Value* found = json::find(from, method))
      put_bytes(out, number, operation(*found));
  put_parameters(out, 9, from);
  return out;
}

}  // namespace

std::string openapi_v2_protobuf(const json::Value& document) {
  std::string out, info, paths, definitions;
  put_text(out, 1, text_at(document, "swagger"));
  put_text(info, 1, json::string_at(document, {"info", "title"}));
  put_text(info, 2, json::string_at(document, {"info", "version"}));
  put_bytes(out, 2, info);
  if (const json::Object* all = json::object_at(document, {"paths"}))
    for (const auto& path : *all) put_bytes(paths, 2, named(path.key(), path_item(path.value())));
  put_bytes(out, 8, paths);
  if (const json::Object* all = json::object_at(document, {"definitions"}))
    for (const auto& one : *all) put_bytes(definitions, 1, named(one.key(), schema(one.value())));
  put_bytes(out, 9, definitions);
  return out;
}

}  // namespace hekla::apiserver
