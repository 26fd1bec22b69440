// Binding a pod to a node: the verb of schedulers.
#pragma once

#include "apiserver/write/stages/put.h"

namespace hekla::apiserver {

Result<PreparedWrite> prepare_binding(WriteScope& scope);

}  // namespace hekla::apiserver
