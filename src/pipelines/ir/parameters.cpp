#include <algorithm>

#include "json/go_text.h"
#include "pipelines/ir/read.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::ir {
namespace {

std::unexpected<Error> refuse(std::string reason) {
  return fail(Code::bad_request, "Invalid input error: " + std::move(reason));
}

Result<void> check_type(const std::string& name, const ParameterDefinition& parameter,
                        const json::Value& value) {
  const std::string is = "input parameter " + name;
  switch (parameter.type) {
    case ParameterType::unspecified:
      return refuse(is + " has unspecified type");
    case ParameterType::number_double:
    case ParameterType::number_integer:
      if (!value.is_number())
        return refuse(is +
                      " requires type double or integer, but the parameter value is not of "
                      "number value type");
      return {};
    case ParameterType::string:
      if (!value.is_string())
        return refuse(is +
                      " requires type string, but the input parameter is not of string value "
                      "type");
      return {};
    case ParameterType::boolean:
      if (!value.is_bool())
        return refuse(is +
                      " requires type bool, but the input parameter is not of bool value type");
      return {};
    case ParameterType::list:
      if (!value.is_array())
        return refuse(is +
                      " requires type list, but the input parameter is not of list value type");
      return {};
    case ParameterType::structure:
      if (!value.is_object())
        return refuse(is +
                      " requires type struct, but the input parameter is not of struct value "
                      "type");
      return {};
    case ParameterType::task_final_status:
      return refuse(is + " requires type TASK_FINAL_STATUS, which is invalid for root component");
    case ParameterType::task_config:
      return refuse(is + " requires type unknown");
  }
  return {};
}

}  // namespace

Result<void> check_parameters(const Pipeline& pipeline, const json::Object& parameters) {
  for (const auto& [name, definition] : pipeline.root.input_parameters) {
    const json::Value* given = json::find(parameters, name);
    if (given == nullptr) {
      if (!definition.optional && !definition.default_value)
        return refuse("parameter " + name +
                      " is not optional, yet has neither default value nor user provided value");
      continue;
    }
    if (given->is_null() && definition.optional) continue;
    TRY(check_type(name, definition, *given));
    const bool allowed = definition.literals.empty() ||
                         std::ranges::any_of(definition.literals, [&](const json::Value& literal) {
                           return json::equal(plain_numbers(literal), plain_numbers(*given));
                         });
    if (!allowed)
      return refuse("input parameter " + name + " value " + json::serialize(*given) +
                    " is not one of the allowed literals " + json::serialize(definition.literals));
  }
  std::string extra;
  for (const auto& member : parameters)
    if (!pipeline.root.input_parameters.contains(std::string(member.key())))
      extra += (extra.empty() ? "" : ", ") + std::string(member.key());
  if (!extra.empty()) return refuse("parameter(s) provided are not required by pipeline: " + extra);
  return {};
}

}  // namespace hekla::pipelines::ir
