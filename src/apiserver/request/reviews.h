// Requests that are answered rather than stored: tokens, and questions about who may do what.
#pragma once

#include "apiserver/request/exchange.h"

namespace hekla::apiserver {

// False when it is none of them.
bool serve_virtual(const ExchangePtr& exchange);

}  // namespace hekla::apiserver
