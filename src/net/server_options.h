// A server's options: where it listens, its limits, and the rules of each route.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/crypto.h"
#include "net/http.h"

namespace hekla::net {

// How one request is taken, decided when its head has come. A client that is late gets 408 (of a
// body) or 504 (in all) unless its answer has begun; then the connection is broken off.
struct RouteRules {
  // The handler is called at once and reads the body as it comes: ResponseWriter::read_body().
  bool stream_body = false;
  std::size_t max_body_bytes = 3 * 1024 * 1024;  // more: 413, before any of it is read if announced
  std::chrono::milliseconds body_timeout{60'000};  // from the head to the body's last byte; 0: none
  // Longest time without a byte from a client whose body is being read, or taken by a client that
  // an answer waits for; 0: none. A paused input does not count, an upgraded connection neither.
  std::chrono::milliseconds stall_timeout{0};
  // From the head to the end of the answer; 0: none. Upgraded connections end then, too.
  std::chrono::milliseconds total_timeout{0};
};
// On a net thread with everything of the request but its body; must not block. Its result holds for
// this request only.
using Router = std::function<RouteRules(const Request& head)>;

struct ServerOptions {
  std::string name = "net";  // of its threads
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0 takes a free one
  int threads = 2;
  bool tls = true;
  KeyPair certificate;        // with tls
  std::string client_ca_pem;  // client certificates are asked for and verified, never demanded
  // The rules of each request; none: bodies come whole, with the two limits that follow.
  Router router;
  std::size_t max_body_bytes = 3 * 1024 * 1024;
  std::chrono::milliseconds request_timeout{60'000};  // from a request's first byte to its last
  std::size_t max_header_bytes = 64 * 1024;
  // From a request's first byte to the end of its head: no route is known before.
  std::chrono::milliseconds header_timeout{60'000};
  std::size_t max_connections = 10'000;
  // Memory of all requests that have not come to their end, which nobody has authenticated yet.
  // Beyond it only small ones are read on; larger ones are told to come again (429).
  std::size_t max_unfinished_bytes = std::size_t{256} << 20;
  // Memory of all answers that are complete and wait for their readers. Beyond it those whose
  // readers have taken nothing for the longest time, and for a second at least, are broken off.
  std::size_t max_unread_bytes = std::size_t{512} << 20;
  // Between two requests, and for a reader of a complete answer that takes nothing of it.
  std::chrono::seconds idle_timeout{300};
};

}  // namespace hekla::net
