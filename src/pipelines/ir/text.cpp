#include "pipelines/ir/text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "json/go_text.h"

namespace hekla::pipelines::ir {

std::string_view name_of(ParameterType type) {
  static constexpr std::array<std::string_view, 9> names = {"PARAMETER_TYPE_ENUM_UNSPECIFIED",
                                                            "NUMBER_DOUBLE",
                                                            "NUMBER_INTEGER",
                                                            "STRING",
                                                            "BOOLEAN",
                                                            "LIST",
                                                            "STRUCT",
                                                            "TASK_FINAL_STATUS",
                                                            "TASK_CONFIG"};
  return names[static_cast<std::size_t>(type)];
}

json::Value plain_numbers(const json::Value& value) {
  if (value.is_double()) {
    const double number = value.get_double();
    if (std::floor(number) == number && std::abs(number) < 0x1p53)
      return static_cast<std::int64_t>(number);
    return value;
  }
  if (value.is_array()) {
    json::Array made;
    made.reserve(value.get_array().size());
    for (const json::Value& one : value.get_array()) made.push_back(plain_numbers(one));
    return made;
  }
  if (value.is_object()) {
    json::Object made;
    for (const auto& member : value.get_object())
      made.emplace(member.key(), plain_numbers(member.value()));
    return made;
  }
  return value;
}

std::string text_of(const json::Value& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return std::string(json::sv(value.get_string()));
  if (value.is_bool()) return value.get_bool() ? "true" : "false";
  if (value.is_double()) {
    std::array<char, 512> buffer;
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                            value.get_double(), std::chars_format::fixed);
    if (error == std::errc{}) return {buffer.data(), end};
  }
  return json::serialize(plain_numbers(value));
}

bool is_of_type(const json::Value& value, ParameterType type) {
  switch (type) {
    case ParameterType::number_double:
      return value.is_number();
    case ParameterType::number_integer:
      return value.is_number() && plain_numbers(value).is_int64();
    case ParameterType::string:
      return value.is_string();
    case ParameterType::boolean:
      return value.is_bool();
    case ParameterType::list:
      return value.is_array();
    case ParameterType::structure:
      return value.is_object();
    default:
      return true;
  }
}

std::string_view kind_of(const json::Value& value) {
  if (value.is_null()) return "NULL";
  if (value.is_bool()) return "BOOLEAN";
  if (value.is_string()) return "STRING";
  if (value.is_array()) return "LIST";
  if (value.is_object()) return "STRUCT";
  return "NUMBER";
}

}  // namespace hekla::pipelines::ir
