// Request bodies in Kubernetes' protobuf, as client-go 0.32 and newer send them for the built-in
// kinds, into JSON. Table-driven by the schema facts; answers go out as JSON, which every such
// client accepts.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

inline constexpr std::string_view kProtobufMagic{"k8s\0", 4};

// A body with its envelope (magic, then runtime.Unknown). apiVersion and kind come from the
// envelope. When the facts have no message of that name the error is bad_request.
Result<json::Value> decode_protobuf(std::string_view body);

// One message of a Go type ("io.k8s.api.core.v1.Pod"), without envelope.
Result<json::Value> decode_message(std::string_view go_type, std::string_view message);

}  // namespace hekla::apiserver
