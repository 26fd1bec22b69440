// Server-side apply: the caller states the fields it wants; what it stated before and no longer
// states goes away unless somebody else owns it; what others own is a conflict unless forced.
#pragma once

#include "apiserver/write/stages/put.h"

namespace hekla::apiserver {

Result<PreparedWrite> prepare_apply(WriteScope& scope);
// Lays a configuration, which has been read and checked, over what is stored.
Result<PreparedWrite> apply_config(WriteScope& scope, json::Value config, store::ItemPtr item);

}  // namespace hekla::apiserver
