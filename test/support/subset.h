// Expectations of scenarios: part of an object, written as YAML.
#pragma once

#include <string>

#include "json/value.h"

namespace hekla::test {

// Where `actual` differs from what is wanted, or nothing: objects may have more members, null means
// absent.
std::string subset_mismatch(const json::Value& wanted, const json::Value* actual,
                            const std::string& path);

}  // namespace hekla::test
