// The rules a CRD's schema must keep to be structural, checked on the JSON as written.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

// Every violation; fields are relative to the schema ("properties[spec].type").
std::vector<Cause> structural_violations(const json::Value& open_api_v3_schema);

}  // namespace hekla::apiserver
