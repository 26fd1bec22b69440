// PUT: the whole object replaces the old one.
#pragma once

#include "apiserver/write/stages/put.h"

namespace hekla::apiserver {

Result<PreparedWrite> prepare_update(WriteScope& scope);

}  // namespace hekla::apiserver
