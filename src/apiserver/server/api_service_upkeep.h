// What the API server itself says of APIServices: there is one for every version it serves, always
// available. Those that name another server are the aggregator's (aggregator.h).
#pragma once

#include "apiserver/server/upkeep.h"

namespace hekla::apiserver {

UpkeepRule api_service_upkeep();

}  // namespace hekla::apiserver
