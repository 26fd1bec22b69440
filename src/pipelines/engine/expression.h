// The IR's two kinds of expressions: conditions of tasks and selectors of values.
#pragma once

#include <string>

#include "json/value.h"

namespace hekla::pipelines::engine {

// A trigger condition over a task's inputs ({parameterValues: ...}): CEL with
// inputs.parameter_values. Errors are bad_request.
Result<bool> evaluate_condition(const std::string& text, const json::Object& inputs);

// parseJson(string_value)["key"], keys and indexes one after the other, or string_value alone.
Result<json::Value> select(const std::string& selector, const json::Value& value);

}  // namespace hekla::pipelines::engine
