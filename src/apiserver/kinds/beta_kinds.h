// Versions of built-in kinds that Kubernetes no longer serves and that manifests of its time speak
// of: other faces of the same objects. Each answer about them carries the warning that servers gave
// which still had them. `hekla up` serves them, `hekla apiserver` does not: there today's discovery
// is the contract.
#pragma once

#include "apiserver/kinds/builtin.h"

namespace hekla::apiserver {

// The built-in kinds and, behind them, those versions; made once.
const Kinds& kinds_with_betas();

}  // namespace hekla::apiserver
