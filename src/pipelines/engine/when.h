// Argo's conditions of tasks, the `when` of a step, once everything is filled in.
#pragma once

#include <string>

#include "base/result.h"

namespace hekla::pipelines::engine {

// Numbers, texts (quoted or as bare words), true and false, with == != < <= > >= =~ !~, && || !,
// + - * / %, `in` a list and parentheses. Errors are bad_request.
Result<bool> evaluate_when(const std::string& text);

}  // namespace hekla::pipelines::engine
