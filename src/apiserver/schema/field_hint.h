// Help with misspelt fields, for the platform's own kinds. Other kinds are refused in
// kube-apiserver's words and no others.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/schema/schema.h"

namespace hekla::apiserver {

bool is_platform_group(std::string_view group);

// `, did you mean "minAvailable"?` for the unknown field at `path` ("spec.tasks[0].replica"), or
// nothing when no field there is spelt nearly like it.
std::string field_hint(const Schema& schema, std::string_view path);

}  // namespace hekla::apiserver
