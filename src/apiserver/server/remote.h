// Requests that another API server answers (aggregator.h).
#pragma once

#include "apiserver/request/exchange.h"

namespace hekla::apiserver {

// Carries the request on when another server answers for its path. False: it is ours.
bool serve_remote(const ExchangePtr& exchange);

}  // namespace hekla::apiserver
