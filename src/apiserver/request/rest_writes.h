// Create, update, patch, delete and deletecollection over HTTP.
#pragma once

#include <string_view>

#include "apiserver/request/exchange.h"

namespace hekla::apiserver {

void serve_write(const ExchangePtr& exchange);

// How the body of a PATCH is meant; 415 when the kind takes no such patch.
Result<kube::PatchType> patch_type(std::string_view content_type, const Kind& kind);

}  // namespace hekla::apiserver
