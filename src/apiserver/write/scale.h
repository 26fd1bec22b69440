// The scale subresource: an autoscaling/v1 Scale as a view of an object's replica counts.
#pragma once

#include "apiserver/object/kind.h"
#include "apiserver/object/registry.h"
#include "apiserver/write/stages/put.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

// The autoscaling/v1 Scale of an object.
Result<json::Value> scale_of(const Kind& kind, const json::Value& object);
// How kubectl get shows it.
const ServedKind& shown_scale();

Result<PreparedWrite> prepare_scale(WriteScope& scope);

}  // namespace hekla::apiserver
