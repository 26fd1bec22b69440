// DELETE: preconditions, finalizers, grace, and at last the removal. The order is that of the
// generic registry of kube-apiserver 1.34.
#pragma once

#include <functional>

#include "apiserver/write/stages/put.h"

namespace hekla::apiserver {

// `mark` edits the object on its way out (the condition of an eviction).
Result<PreparedWrite> prepare_remove(WriteScope& scope,
                                     const std::function<void(json::Value&)>& mark = {});

}  // namespace hekla::apiserver
