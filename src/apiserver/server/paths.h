// Requests that are not about objects: health, metrics, discovery, schemas, backups.
#pragma once

#include <string_view>

#include "apiserver/request/exchange.h"

namespace hekla::apiserver {

void serve_path(const ExchangePtr& exchange);

// A question whether the server is well, which is answered however busy it is.
bool is_probe(std::string_view path);

// 404 in plain text: nobody here knows the path.
net::Response page_not_found();

}  // namespace hekla::apiserver
