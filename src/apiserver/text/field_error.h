// The words of a refused object: causes as Go's field.Error prints them, the Status around them,
// and Go's spelling of values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/go_text.h"
#include "json/value.h"
#include "kube/client.h"

namespace hekla::apiserver {

using json::go_quote;
// A value as field.Error shows it: strings quoted, everything else as JSON.
std::string go_value(const json::Value& value);

Cause required_value(std::string field, std::string detail = {});
Cause invalid_value(std::string field, const json::Value& value, std::string detail);
Cause type_invalid(std::string field, const json::Value& value, std::string detail);
Cause not_found_value(std::string field, const json::Value& value);
Cause too_long(std::string field, std::uint64_t max_length);
Cause too_many(std::string field, std::uint64_t actual, std::uint64_t max_count);
Cause unsupported_value(std::string field, const json::Value& value,
                        const std::vector<std::string>& supported);
Cause forbidden_value(std::string field, std::string detail);
Cause duplicate_value(std::string field, const json::Value& value);
// 422: `Deployment.apps "x" is invalid: [...]`.
Error invalid_object(const kube::Resource& resource, const std::string& name,
                     std::vector<Cause> causes);

}  // namespace hekla::apiserver
