// Kubernetes' protobuf: request bodies, as client-go 0.32 and newer send them for the built-in
// kinds, into JSON, and back for clients that accept nothing else. Table-driven by the schema
// facts. Whoever also accepts JSON gets JSON: it is what the store holds, and every such client
// reads it.
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

// "io.k8s.api.core.v1.Pod" for v1 and Pod.
std::string protobuf_message_name(std::string_view api_version, std::string_view kind);

// An object, a list or a Status with its envelope; not_acceptable when the facts have no such
// message.
Result<std::string> encode_protobuf(const json::Value& object);
// A watch event {"type", "object"} with its length before it.
Result<std::string> encode_watch_frame(const json::Value& event);

}  // namespace hekla::apiserver
