// The rest of field.Error's vocabulary, beside the constructors in kind.h, and Go's spelling of
// values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/go_text.h"
#include "json/value.h"

namespace hekla::apiserver {

using json::go_quote;
// A value as field.Error shows it: strings quoted, everything else as JSON.
std::string go_value(const json::Value& value);

Cause type_invalid(std::string field, const json::Value& value, std::string detail);
Cause not_found_value(std::string field, const json::Value& value);
Cause too_long(std::string field, std::uint64_t max_length);
Cause too_many(std::string field, std::uint64_t actual, std::uint64_t max_count);

}  // namespace hekla::apiserver
