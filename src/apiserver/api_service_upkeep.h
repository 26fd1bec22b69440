// What the API server itself says of APIServices: there is one for every version it serves, always
// available. Those that name another server are the aggregator's (aggregator.h).
#pragma once

#include "apiserver/upkeep.h"

namespace hekla::apiserver {

UpkeepRule api_service_upkeep();
// Of an APIService that is served here.
json::Value local_condition(WallTime now);

// Upstream's order of groups, larger first; 1000 for what comes from CRDs.
std::int64_t group_minimum(const std::string& group);
// Whether this server answers for the version itself, whatever an APIService says.
bool is_local_version(const Catalog& catalog, std::string_view group, std::string_view version);

}  // namespace hekla::apiserver
