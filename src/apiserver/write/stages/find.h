// The stored object that a write addresses.
#pragma once

#include <string>

#include "apiserver/object/write_scope.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

// The object the request addresses, or not_found.
Result<store::ItemPtr> find_item(const WriteScope& scope);
std::string request_key(const WriteScope& scope);
// What is stored, in the version of the request.
Result<json::Value> stored_object(WriteScope& scope, const store::Item& item);

}  // namespace hekla::apiserver
