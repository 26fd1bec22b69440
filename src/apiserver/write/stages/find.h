// The two objects of a write: what was sent, and what is stored.
#pragma once

#include <string>

#include "apiserver/object/write_scope.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

// The request's body for this attempt to change: as it was parsed the first time, else read or
// copied anew into the attempt's memory.
json::Value take_body(WriteScope& scope);
// Whether the object is written through a view of it, a Scale, which webhooks and policies have
// seen in its place.
bool writes_view(const WriteScope& scope);
// The object the request addresses, or not_found.
Result<store::ItemPtr> find_item(const WriteScope& scope);
std::string request_key(const WriteScope& scope);
// The stored object in the version of the request.
Result<json::Value> stored_object(WriteScope& scope, const store::Item& item);

}  // namespace hekla::apiserver
