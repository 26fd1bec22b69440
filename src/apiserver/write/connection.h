// Requests that open a stream: nothing is written, admission judges what was asked for.
#pragma once

#include "apiserver/write/stages/put.h"

namespace hekla::apiserver {

Result<PreparedWrite> prepare_connect(WriteScope& scope);

}  // namespace hekla::apiserver
