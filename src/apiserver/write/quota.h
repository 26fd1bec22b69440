// ResourceQuota: what a write adds to or takes from a namespace is charged to its quotas in the
// same commit, so that status.used never lags behind the objects and two writers cannot share the
// last piece. Counting from nothing (a new quota, a changed one) is the controller's part.
#pragma once

#include "apiserver/object/write_scope.h"

namespace hekla::apiserver {

// `object` is what will be stored, null when the object goes; `old` is what is there, null for a
// new one. Refused when a quota would be exceeded; the last admission step.
Result<void> quota_stage(WriteScope& scope, const json::Value* object, const json::Value* old);

}  // namespace hekla::apiserver
