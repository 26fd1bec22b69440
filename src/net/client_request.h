// A client's request, and the callbacks by which its answer is heard.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace hekla::net {

// A body that is not there when its request is sent: StreamHandle::write() brings it.
struct StreamedBody {
  std::optional<std::uint64_t> bytes;  // announced as Content-Length; none: chunked
};

struct ClientRequest {
  std::string method = "GET";
  std::string url;  // https://host:port/path?query, http://..., unix:///run/x.sock:/path?query
  Headers headers;
  std::string body;
  std::optional<StreamedBody> streamed_body;  // in place of `body`; only for Client::stream
  std::chrono::milliseconds timeout{30'000};  // whole exchange; 0 for none (streams)
  // From the request's last byte to the head of its answer; 0 for none.
  std::chrono::milliseconds head_timeout{0};
  // Longest time in which the server neither takes of a body that waits for it nor sends of an
  // answer that has begun and is not held; 0 for none. Not after a 101.
  std::chrono::milliseconds stall_timeout{0};
  // While nobody listens there (connection refused) connecting is tried again for so long, within
  // the client's connect_timeout: nothing has been sent by then. For servers that are starting.
  std::chrono::milliseconds refused_retry{0};
  std::size_t max_body_bytes = 256u << 20;
};

// A response body as it arrives. Called on a net thread, one call at a time: on_head, on_data...,
// on_end. A slow callback slows the sender down. When the server agrees to leave HTTP behind (101),
// the data is whatever it sends from then on.
struct StreamCallbacks {
  std::function<void(int status, const Headers&)> on_head;
  std::function<void(std::string_view)> on_data;
  std::function<void(Result<void>)> on_end;  // exactly once
  std::function<void()> on_drained;          // what was written has left
  // Interim answers (1xx other than 101), before on_head.
  std::function<void(int status, const Headers&)> on_interim = {};
  // Trailer fields of a chunked body, before on_end; only if there are any.
  std::function<void(const Headers&)> on_trailers = {};
  // After a 101: the server sends nothing more and still reads. on_end comes when end() has been
  // said as well. Without this callback the server's end is the end of both.
  std::function<void()> on_server_end = {};
};

}  // namespace hekla::net
