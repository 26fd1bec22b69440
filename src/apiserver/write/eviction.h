// Evicting a pod, as kubectl drain does: a deletion that a PodDisruptionBudget may forbid. The
// budget is used up in the same commit. The order is that of kube-apiserver 1.34's eviction
// subresource.
#pragma once

#include "apiserver/write/stages/put.h"

namespace hekla::apiserver {

Result<PreparedWrite> prepare_eviction(WriteScope& scope);

}  // namespace hekla::apiserver
