// FlowSchemas of the server itself: whether the priority level they name is there. It
// also brings the mandatory objects back when somebody has taken them away.
#pragma once

#include "apiserver/server/self_reconciler.h"

namespace hekla::apiserver {

ReconcileRule flow_schema_rule();

}  // namespace hekla::apiserver
