// The body of a request as a value, whatever language it was written in.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "json/arena.h"
#include "json/value.h"
#include "net/http.h"

namespace hekla::apiserver {

// Repeated members are added to `repeated` in the words of a strict decoder of their language.
// All of the value's memory is in `storage`.
Result<json::Value> parse_body(const net::Request& request, std::vector<std::string>* repeated,
                               json::Storage storage = {});
// Why a body did not parse, in the words of Go's decoder.
std::string syntax_error(const net::Request& request, const Error& error);
// The refusal of a body that did not parse and should have been of `kind`.
Error unreadable_body(const net::Request& request, const std::string& kind, const Error& error);

}  // namespace hekla::apiserver
