// What the API server itself says of APIServices: there is one for every version it serves, and those that name another
// server are told that nobody asks it.
#pragma once

#include "apiserver/upkeep.h"

namespace hekla::apiserver {

UpkeepRule api_service_upkeep();

}  // namespace hekla::apiserver
