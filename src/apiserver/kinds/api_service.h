// APIServices of this server's own group versions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "apiserver/object/registry.h"
#include "base/clock.h"
#include "json/value.h"

namespace hekla::apiserver {

// The condition of an APIService that is served here.
json::Value local_condition(WallTime now);
// Upstream's order of groups, larger first; 1000 for what comes from CRDs.
std::int64_t group_minimum(const std::string& group);
// Whether this server answers for the version itself, whatever an APIService says.
bool is_local_version(const Catalog& catalog, std::string_view group, std::string_view version);

}  // namespace hekla::apiserver
