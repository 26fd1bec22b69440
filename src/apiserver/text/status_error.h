// Errors as Status objects on the wire.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"
#include "kube/client.h"
#include "net/http.h"

namespace hekla::apiserver {

// `continue_token` goes into the Status' metadata: where to go on after an expired list.
json::Value status_of(const Error& error, std::string_view continue_token = {});
// Status and headers (Retry-After) of a failed request.
net::Response error_response(const Error& error, bool pretty = false,
                             std::string_view continue_token = {});

// {"status":"Success"} about one object, as DELETE answers.
json::Value success_status(const kube::Resource& resource, std::string_view name,
                           std::string_view uid);
// The bare success of bindings and evictions.
json::Value created_status();

net::Response json_response(int status, const json::Value& value, bool pretty);
// Bytes that are already JSON.
net::Response raw_json_response(int status, std::string body, bool pretty);

}  // namespace hekla::apiserver
