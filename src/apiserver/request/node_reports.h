// What the node agent knows and nobody stores: metrics.k8s.io, and the logs of gone pods
// (logs.hekla.io).
#pragma once

#include "apiserver/request/exchange.h"

namespace hekla::apiserver {

// False when it is none of that.
bool serve_node_report(const ExchangePtr& exchange);

}  // namespace hekla::apiserver
