// An HTTP/1.1 server over TLS or plain TCP: keep-alive, pipelining in order, bodies and answers
// whole or as streams, limits. A server is one listener with threads and memory limits of its own:
// a process has one for each of its faces (API, gateway, objects), and none can starve another.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/crypto.h"
#include "base/result.h"
#include "net/http.h"
#include "net/listener.h"

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

class Server {
 public:
  // Listens; the handler runs on net threads and must not block.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Handler handler);
  // The same on a socket that listens already, whatever the options say of it: so its port is known
  // before.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Handler handler,
                                               Socket listener);
  virtual ~Server() = default;
  virtual std::uint16_t port() const = 0;
  // Serves on one more socket as well, bound and listening; takes it over. It may live in another
  // network namespace: that is how pods reach a server of the host.
  virtual void serve_on(Socket socket) = 0;
  // New connections are served with this certificate. Only with tls.
  virtual Result<void> set_certificate(const KeyPair& certificate) = 0;
  // Stops accepting, ends streams, waits up to `grace` for requests under way, joins the threads.
  virtual void stop(std::chrono::milliseconds grace = std::chrono::milliseconds(1000)) = 0;
};

}  // namespace hekla::net
