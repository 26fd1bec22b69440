// A run's parameters from what was typed: -p name=value, by the types the pipeline declares.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::cli {

// `spec` is the pipeline's document; without root (an Argo Workflow) every value is a text. Errors
// name the parameter, what it wants and what was given.
Result<json::Object> run_parameters(const json::Value& spec, const std::vector<std::string>& typed);

}  // namespace hekla::cli
