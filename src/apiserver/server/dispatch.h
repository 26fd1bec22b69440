// The door: who asks, may they, and which of the handlers answers.
#pragma once

#include <memory>

#include "apiserver/request/exchange.h"

namespace hekla::apiserver {

// Runs on a net thread; answers there, at once or later.
void handle_request(const Serving& serving, net::Request request,
                    std::shared_ptr<net::ResponseWriter> writer);

}  // namespace hekla::apiserver
