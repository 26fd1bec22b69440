// Reports of the node agent, which are not stored: metrics.k8s.io, and the logs of gone pods
// (logs.hekla.io).
#pragma once

#include "apiserver/request/exchange.h"

namespace hekla::apiserver {

// A request about one of report_kinds().
void serve_node_report(const ExchangePtr& exchange);

}  // namespace hekla::apiserver
