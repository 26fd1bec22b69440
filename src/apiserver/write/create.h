// POST, and the creating half of PUT and server-side apply.
#pragma once

#include "apiserver/write/stages/put.h"

namespace hekla::apiserver {

struct FieldSet;  // field_set.h

// `stated`: the fields of a creation by server-side apply.
Result<PreparedWrite> prepare_create(WriteScope& scope, json::Value object,
                                     const FieldSet* stated = nullptr);

}  // namespace hekla::apiserver
