// Requests that another API server answers (aggregator.h).
#pragma once

#include "apiserver/request/exchange.h"

namespace hekla::apiserver {

// The server that answers for the path; null: this one does.
RemotePtr remote_for(const Exchange& exchange);
// Carries the request on to it.
void serve_remote(const ExchangePtr& exchange, const RemotePtr& remote);

}  // namespace hekla::apiserver
