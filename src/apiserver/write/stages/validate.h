// Validation: metadata, schema, the kind's own rules.
#pragma once

#include "apiserver/object/write_scope.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

Result<void> validate_stage(WriteScope& scope, const json::Value& object, const json::Value* old);
// The group whose rules judge the object: events of either group are core's.
kube::Resource stored_as(const Kind& kind);
// Whether the two differ at most in their metadata, and perhaps their status.
bool same_outside(const json::Value& a, const json::Value& b, bool ignore_status);

}  // namespace hekla::apiserver
