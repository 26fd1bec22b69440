// The IR's names of things, and the small messages that other documents use as well.
#pragma once

#include <string>

#include "json/value.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::ir {

// An input parameter's source as a task or a platform setting (pvcNameParameter) writes it.
Result<ParameterSource> read_parameter_source(const json::Value& value, const std::string& where);

// The text of a value as templates show it: numbers in decimal without an exponent, lists and
// objects as JSON, null as nothing.
std::string text_of(const json::Value& value);
// A number without a fraction as the integer it is; lists and objects all through.
json::Value plain_numbers(const json::Value& value);
// Whether the value is of the type; `got` is the kind it has instead, for messages.
bool is_of_type(const json::Value& value, ParameterType type);
std::string_view kind_of(const json::Value& value);

}  // namespace hekla::pipelines::ir
