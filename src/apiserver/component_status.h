// componentstatuses: what `kubectl get componentstatuses` asks for. Nothing is stored; the
// components of this process are well for as long as it answers, others are not watched.
#pragma once

#include "apiserver/kind.h"

namespace hekla::apiserver {

struct Exchange;

KindPtr component_status_kind();
// False when the request is about something else.
bool serve_component_status(const std::shared_ptr<Exchange>& exchange);

}  // namespace hekla::apiserver
