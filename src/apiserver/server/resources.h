// Requests about objects: which of the handlers answers for a resource and its subresources.
#pragma once

#include "apiserver/request/exchange.h"

namespace hekla::apiserver {

void serve_resource(const ExchangePtr& exchange);

}  // namespace hekla::apiserver
