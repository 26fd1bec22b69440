// The Kubernetes API as the visitor: a request below the page's own origin becomes one of the API
// server, impersonating who is logged in. The API server decides what they may.
#pragma once

#include <functional>
#include <memory>

#include "kube/web_route.h"
#include "net/http.h"

namespace hekla::dashboard {

// Sends a request to the API server with the platform's own right to impersonate: in the process,
// or over HTTPS. Main gives it.
using ApiDoor = std::function<void(net::Request, std::shared_ptr<net::ResponseWriter>)>;

// Without `prefix`, without whatever the client says about itself, with the visitor's name.
net::Request as_user(net::Request request, std::string_view prefix, const kube::User& user);

kube::WebHandler api_handler(ApiDoor door, std::string prefix);

}  // namespace hekla::dashboard
