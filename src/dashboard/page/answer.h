// Answers of the page's own routes: JSON, and refusals as a Kubernetes Status.
#pragma once

#include <memory>

#include "base/executor.h"
#include "json/value.h"
#include "net/http.h"

namespace hekla::dashboard {

net::Response json_response(const json::Value& value, int status = 200);
net::Response error_response(const Error& error);

// Goes on on the loop; a loop that has no room answers 429.
void on_loop(Executor& loop, const std::shared_ptr<net::ResponseWriter>& writer, Task task);

}  // namespace hekla::dashboard
