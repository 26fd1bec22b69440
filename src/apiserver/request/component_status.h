// componentstatuses: what `kubectl get componentstatuses` asks for. Nothing is stored; the
// components of this process are well for as long as it answers, others are not watched.
#pragma once

#include "apiserver/request/exchange.h"

namespace hekla::apiserver {

// A get or list of them.
void serve_component_status(const ExchangePtr& exchange);

}  // namespace hekla::apiserver
