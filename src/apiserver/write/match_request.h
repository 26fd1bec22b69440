// A request's body against its URL.
#pragma once

#include "apiserver/object/kind.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/client.h"

namespace hekla::apiserver {

// Fills or checks apiVersion, kind, name and namespace of a request body against its URL.
Result<void> match_request(const Kind& kind, const kube::Key& key, json::Value& object);

}  // namespace hekla::apiserver
