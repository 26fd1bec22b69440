// APIServices of the server itself: there is one for every version it serves, always
// available. Those that name another server are the aggregator's (aggregator.h).
#pragma once

#include "apiserver/server/self_reconciler.h"

namespace hekla::apiserver {

ReconcileRule api_service_rule();

}  // namespace hekla::apiserver
