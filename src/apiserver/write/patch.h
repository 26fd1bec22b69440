// PATCH: JSON patch, merge patch and strategic merge patch. Server-side apply is apply.h.
#pragma once

#include "apiserver/write/stages/put.h"
#include "kube/client.h"

namespace hekla::apiserver {

Result<PreparedWrite> prepare_patch(WriteScope& scope);
// The three patch types that need nothing but the object.
Result<void> apply_patch(const WriteScope& scope, kube::PatchType type, const json::Value& patch,
                         json::Value& object);

}  // namespace hekla::apiserver
