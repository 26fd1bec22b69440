// What the API server itself says of FlowSchemas: whether the priority level they name is there. It
// also brings the mandatory objects back when somebody has taken them away.
#pragma once

#include "apiserver/server/upkeep.h"

namespace hekla::apiserver {

UpkeepRule flow_upkeep();

}  // namespace hekla::apiserver
