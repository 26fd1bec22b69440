// The stage that looks at the whole cluster.
#pragma once

#include "apiserver/object/write_scope.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

// Fills in what depends on the whole cluster: addresses of services, conditions of CRDs.
Result<void> allocate_stage(WriteScope& scope, json::Value& object, const json::Value* old);

}  // namespace hekla::apiserver
