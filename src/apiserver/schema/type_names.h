// The names of types: those of schemas and values in OpenAPI, and of values in the words of Go.
#pragma once

#include <array>
#include <string_view>

#include "apiserver/schema/schema.h"
#include "json/value.h"

namespace hekla::apiserver {

// As a refusal names what a schema wants.
constexpr std::string_view type_name(Schema::Type type) {
  constexpr std::array<std::string_view, 8> kNames{
      "", "object", "array", "string", "integer", "number", "boolean", "integer,string"};
  static_assert(static_cast<std::size_t>(Schema::Type::int_or_string) == kNames.size() - 1);
  return kNames[static_cast<std::size_t>(type)];
}

struct ValueNames {
  std::string_view openapi;
  std::string_view json;  // encoding/json's word for what it found
  std::string_view go;    // reflection's word for it once it is decoded into interface{}
};
constexpr ValueNames value_names(json::Kind kind) {
  constexpr std::array<ValueNames, 8> kNames{{{"null", "number", "number"},
                                              {"boolean", "bool", "bool"},
                                              {"integer", "number", "int64"},
                                              {"integer", "number", "int64"},
                                              {"number", "number", "float64"},
                                              {"string", "string", "string"},
                                              {"array", "array", "slice"},
                                              {"object", "object", "map"}}};
  static_assert(static_cast<std::size_t>(json::Kind::object) == kNames.size() - 1);
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace hekla::apiserver
