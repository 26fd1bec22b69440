// Requests that are answered rather than stored: tokens, and questions about who may do what.
#pragma once

#include "apiserver/request/exchange.h"

namespace hekla::apiserver {

// A POST to one of virtual_kinds().
void serve_review(const ExchangePtr& exchange);
// A POST to serviceaccounts/token.
void serve_token_request(const ExchangePtr& exchange);

}  // namespace hekla::apiserver
