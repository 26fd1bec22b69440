// The roles and bindings every cluster begins with, from api/builtin/roles.txt.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

// The format is described at the head of the file. Errors name the line.
Result<std::vector<json::Value>> parse_bootstrap_roles(std::string_view text);
std::vector<json::Value> bootstrap_roles();

}  // namespace hekla::apiserver
